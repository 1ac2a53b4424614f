// A server of Centrifugo's protocol, by the library that Centrifugo is made of.
//
// Argument: how many subscribers to wait for. So long after they are there that each knows that it is, also on a busy
// machine, 20 messages are published, 50 ms apart. Who does not answer a ping is cut off while the test still holds, and has
// more than five seconds for it. The port is printed.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/centrifugal/centrifuge"
)

func main() {
	wanted, _ := strconv.ParseInt(os.Args[1], 10, 32)
	node, err := centrifuge.New(centrifuge.Config{})
	if err != nil {
		panic(err)
	}
	var subscribers atomic.Int64
	node.OnConnecting(func(context.Context, centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
		// Messages of a tenth of a second come in one frame: publications with each other, and with a ping.
		return centrifuge.ConnectReply{
			Credentials: &centrifuge.Credentials{UserID: ""},
			WriteDelay:  120 * time.Millisecond,
		}, nil
	})
	node.OnConnect(func(client *centrifuge.Client) {
		client.OnSubscribe(func(_ centrifuge.SubscribeEvent, answer centrifuge.SubscribeCallback) {
			answer(centrifuge.SubscribeReply{}, nil)
			if subscribers.Add(1) == wanted {
				go publish(node)
			}
		})
		client.OnRPC(func(asked centrifuge.RPCEvent, answer centrifuge.RPCCallback) {
			answer(centrifuge.RPCReply{Data: []byte(`{"asked":"` + asked.Method + `"}`)}, nil)
		})
	})
	if err := node.Run(); err != nil {
		panic(err)
	}
	http.Handle("/connection/websocket", centrifuge.NewWebsocketHandler(node, centrifuge.WebsocketConfig{
		PingPongConfig: centrifuge.PingPongConfig{PingInterval: 7 * time.Second, PongTimeout: 6 * time.Second},
	}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, nil))
}

func publish(node *centrifuge.Node) {
	time.Sleep(7 * time.Second)
	for seq := 1; seq <= 20; seq++ {
		message := fmt.Sprintf(`{"seq":%d,"at":%d}`, seq, time.Now().UnixMilli())
		if _, err := node.Publish("odds", []byte(message)); err != nil {
			panic(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
