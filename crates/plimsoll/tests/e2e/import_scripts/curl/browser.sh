curl 'http://origin.test/api/cart?lang=de&size=%C3%A4' \
  -H 'Accept: application/json, text/plain, */*' \
  -H 'Accept-Language: de-DE,de;q=0.9' \
  -H 'Connection: keep-alive' \
  -b 'theme=dark; lang=de' \
  -H 'Origin: http://origin.test' \
  -H 'Referer: http://origin.test/shop' \
  -H 'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36' \
  -H 'sec-ch-ua: "Chromium";v="131", "Not_A Brand";v="24"' \
  -H 'X-A: it'\''s' \
  --insecure ;
curl 'http://origin.test/api/cart' \
  -X 'PUT' \
  -H 'content-type: application/json' \
  -H 'authorization: Bearer eyJhbGciOi' \
  --data-raw $'{"name":"it\'s \u00e9","lines":"a\\nb\\t","emoji":"!\u0021"}' \
  --compressed
curl 'http://origin.test/form' -X POST -H 'User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0' -H 'Content-Type: application/x-www-form-urlencoded; charset=UTF-8' --data-raw 'q=a+b&percent=100%25&braces={{x}}'
curl 'http://origin.test/safari' \
-X 'POST' \
-H 'Content-Type: text/plain;charset=UTF-8' \
-H 'X-B;' \
--data-binary '<xml a="1">&amp;</xml>'
