curl -sSG http://origin.test/1 -d a=1 --data-urlencode 'b=x y&z' -d c
curl -sIX HEAD http://origin.test/2?q=1
curl -s --head http://origin.test/3
curl -sA agent/1.0 -e http://referer.test/page -r 0-99 -bname=value http://origin.test/4
curl -su ada:secret http://origin.test/5
curl -s http://bob:p%40ss@${ORIGIN_HOST}/6
curl -s --oauth2-bearer abc123 http://origin.test/7
curl -s --url-query 'q=a b' --url-query '+raw=a+b' --url-query plain http://origin.test/8?x=1
curl -s http://origin.test/a/../b/./c http://origin.test/second --path-as-is
curl -s http://origin.test/a/../b/./c
curl -sg 'http://origin.test/globoff?a[]=1&b=[2]'
curl -s -XPOST http://origin.test/9 -H 'Content-Length: 0' --next -s http://origin.test/10 -d y=1 --next -sI http://origin.test/11
curl -s -K options.conf
curl -s -m 5 --connect-timeout 3 --http1.1 -C 100 -H @headers.txt -- http://origin.test/12
curl -s -X OPTIONS http://origin.test/13#fragment -H 'Host: other.test'
curl -s --compressed --no-compressed http://origin.test/14
curl -s -z 'Tue, 01 Jan 2030 10:20:30 GMT' http://origin.test/15
curl -s --time-cond '-Tue, 01 Jan 2030 00:00:00 +0100' http://origin.test/16
