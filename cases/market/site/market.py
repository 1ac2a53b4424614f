"""A WebSocket server of the market: lists games and pools, takes predictions, and tells everybody the new odds.

It keeps no state but its connections. What one server publishes comes to all through Redis. MARKET_BROADCAST says when
odds are published: `prediction` at each, as the study began, or `feed`: by the feed process alone, every three seconds.
"""

import asyncio
import json
import os
import random
import time

import redis.asyncio
import tornado.web
import tornado.websocket

import stores

GAME = 1
CHANNEL = "game-1"


def odds(pools):
    """What a stake of one pays: all stakes over those of its side."""
    return {str(pool): [round((a + b) / a, 3), round((a + b) / b, 3)] for pool, a, b in pools}


async def publish_odds(market):
    pools = await market.read("SELECT id, first, second FROM pools WHERE game = %s", GAME)
    told = {"time": time.time_ns() // 1000, "odds": odds(pools)}
    await market.publish(CHANNEL, json.dumps(told))


async def predict(market, said):
    """A prediction: five calls one after the other, and two more if it is told at once; each is a round trip."""
    pool = said.get("pool") or random.randint(1, 10)
    side = "first" if said.get("side", random.randint(0, 1)) == 0 else "second"
    known = await market.read("SELECT id FROM pools WHERE id = %s AND game = %s", pool, GAME)
    if not known:
        return {"error": "there is no such pool"}
    number = await market.write("INSERT INTO predictions (pool, side) VALUES (%s, %s)", pool, side == "second")
    await market.write(f"UPDATE pools SET {side} = {side} + 1 WHERE id = %s", pool)
    now = await market.write("SELECT id, first, second FROM pools WHERE id = %s", pool)
    await market.keep(f"odds-{pool}", json.dumps(odds(now)))
    if os.environ["MARKET_BROADCAST"] == "prediction":
        await publish_odds(market)
    return {"prediction": number, "odds": odds(now)}


async def listed(market):
    games = await market.read("SELECT id, name FROM games")
    pools = await market.read("SELECT id, question FROM pools WHERE game = %s", GAME)
    return {"games": [name for _, name in games], "pools": {number: question for number, question in pools}}


class Live(tornado.websocket.WebSocketHandler):
    """A client: joins the game as it comes, then predicts and listens."""

    clients = set()

    def initialize(self, market):
        self.market = market

    def check_origin(self, origin):
        return True

    async def prepare(self):
        # Who comes is shown games and pools before it is in.
        self.lists = await listed(self.market)

    def open(self):
        self.set_nodelay(True)
        Live.clients.add(self)

    async def on_message(self, text):
        answer = await predict(self.market, json.loads(text).get("predict", {}))
        try:
            await self.write_message(json.dumps(answer))
        except tornado.websocket.WebSocketClosedError:
            pass

    def on_close(self):
        Live.clients.discard(self)

    @staticmethod
    def tell_all(text):
        for client in list(Live.clients):
            try:
                client.write_message(text)
            except tornado.websocket.WebSocketClosedError:
                Live.clients.discard(client)


class Predictions(tornado.web.RequestHandler):
    """The same by HTTP, for clients whose connections the hub keeps."""

    def initialize(self, market):
        self.market = market

    async def get(self):
        self.finish(json.dumps(await listed(self.market)))

    async def post(self):
        self.finish(json.dumps(await predict(self.market, json.loads(self.request.body or b"{}"))))


class Health(tornado.web.RequestHandler):
    def get(self):
        self.finish("well")


async def hand_on():
    """Tells all clients what is published in Redis."""
    host, port = stores.address("MARKET_REDIS")
    listener = redis.asyncio.Redis(host=host, port=port).pubsub()
    await listener.subscribe(CHANNEL)
    async for message in listener.listen():
        if message["type"] == "message":
            Live.tell_all(message["data"].decode())


async def feed(market):
    """The feed process: the odds of all pools, every three seconds."""
    while True:
        await publish_odds(market)
        await asyncio.sleep(3)


async def main():
    market = stores.chosen()
    await market.open()
    port = os.environ.get("MARKET_PORT")
    if port is None:
        return await feed(market)
    handlers = [("/live", Live), ("/predictions", Predictions)]
    handlers = [(path, handler, {"market": market}) for path, handler in handlers]
    application = tornado.web.Application([*handlers, ("/health", Health)])
    application.listen(int(port), "127.0.0.1", backlog=1024)
    if os.environ.get("MARKET_HUB") == "yes":
        await asyncio.Event().wait()
    await hand_on()


if __name__ == "__main__":
    asyncio.run(main())
