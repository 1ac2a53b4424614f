curl -sL http://origin.test/redirect/2 -H 'X-A: kept'
curl -sL http://origin.test/redirect/1 -d form=1
curl -s http://origin.test/redirect/1
curl -sL --max-redirs 1 http://origin.test/redirect/1
curl -s -c jar.txt http://origin.test/cookie
curl -s -b jar.txt http://origin.test/with-cookie
