#!/bin/bash
set -e
BASE="http://origin.test/api"
export LANGUAGE_CODE=de
BODY='{"from": "a variable"}'
# a comment with 'an unbalanced quote
curl -sS "$BASE/items/{a,b}?page=[1-2]&lang=${LANGUAGE_CODE}" -H "X-A: $TOKEN_OF_TEST" -o /dev/null -w '%{http_code}\n' | cat
curl -sSd "$BODY" "${BASE}/data" && curl -s ${BASE}/second?x=1 > /dev/null; curl -s "$BASE/third" 2>/dev/null
echo '{"from": "echo"}' | curl -s --json @- $BASE/echo
curl -s $BASE/heredoc -H "Content-Type: application/json" -d @- <<END
{
  "lang": "$LANGUAGE_CODE",
  "price": "\$5"
}
END
curl -s "$BASE/literal" --data-binary @- <<'END'
$LANGUAGE_CODE \n stays
END
curl -s "$BASE/default/${NOT_SET_ANYWHERE:-fallback}" \
     -H 'X-B: continued' \
     # the line above ends with a backslash
curl -s \
  "$BASE/last"
