curl http://origin.test/1 -F name=ada -F 'note=a "quoted" note' -F file=@fields.txt
curl http://origin.test/2 -F 'file=@body.json;type=application/json;filename=other.json' -F 'text=<fields.txt' -F 'kind=x;type=text/html;charset=utf-8'
curl http://origin.test/3 --form-string 'raw=@not;a=file' -F 'quoted="a;b, \"c\" \\d"'
curl http://origin.test/4 -F a=1 -F b=2 -F a=3 -F file=@fields.txt -F file=@bytes.bin
curl http://origin.test/5 -X PUT -F 'na"me=1' -F 'empty='
