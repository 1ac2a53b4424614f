# every option of the --data family
curl http://origin.test/1 -d a=1 -d 'b=2 3' --data-ascii c=4
curl http://origin.test/2 -d @fields.txt --data-raw '@raw'
curl http://origin.test/3 --data-binary @fields.txt -H 'Content-Type: text/plain'
curl http://origin.test/4 --data-urlencode 'q=a b&c=d/é' --data-urlencode '=x y' --data-urlencode 'plain~-._text!' --data-urlencode name@fields.txt --data-urlencode @fields.txt
curl http://origin.test/5 --json '{"a":' --json '1}'
curl http://origin.test/6 --json @body.json -X PATCH
curl http://origin.test/7 -X DELETE -d ''
curl -T body.json http://origin.test/upload/
curl -T body.json http://origin.test/named.json -H 'Content-Type: application/json'
curl http://origin.test/8 --data-binary @bytes.bin -H 'Content-Type: application/octet-stream'
curl http://origin.test/9 -X GET -d 'body of a GET'
