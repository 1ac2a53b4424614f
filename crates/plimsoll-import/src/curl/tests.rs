//! Whole imports.

use proptest::prelude::*;

use super::import;
use crate::script::{Script, ScriptError, ScriptFiles, ScriptOptions};
use crate::{FileContent, Imported};

struct Files;

impl ScriptFiles for Files {
    fn text(&self, path: &str) -> Result<String, String> {
        match path {
            "two-lines.txt" => Ok("a=1\r\nb=2\n".to_owned()),
            "big.txt" => Ok("x".repeat(20_000)),
            "my.conf" => {
                Ok("url = \"http://conf.test/\"\n# a comment\nheader: \"X-A: 1\"\n".to_owned())
            }
            "photo.png" => Ok("png".to_owned()),
            _ => Err(format!("cannot read {path}: No such file or directory")),
        }
    }
}

fn imported(text: &str) -> Result<Imported, ScriptError> {
    let script = Script {
        name: "lines.sh",
        text,
        files: &Files,
    };
    import(&script, &ScriptOptions::default())
}

/// The plan without comments and load, then the losses.
fn rendered(text: &str) -> String {
    let imported = imported(text).unwrap_or_else(|error| panic!("{error}"));
    let is_kept = |line: &&str| !line.starts_with(['#']) && !line.starts_with("load:");
    let plan = imported.plan.lines().filter(is_kept);
    let losses = imported.losses.iter().map(ToString::to_string);
    plan.map(str::to_owned)
        .chain(losses)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn a_line_of_chrome_for_bash() {
    insta::assert_snapshot!(rendered(
        "curl 'https://shop.example/api/cart?lang=de' \\\n  -X 'PUT' \\\n  -H 'accept: application/json' \\\n  \
         -H 'cookie: sid=a8f5f167f44f4964e6c998dee827110c; lang=de' \\\n  -H 'sec-ch-ua: \"Chromium\";v=\"131\"' \\\n  \
         -H 'user-agent: Mozilla/5.0' \\\n  --data-raw $'{\"name\":\"it\\'s \\u00e9 \\ud83d\\ude00\\n\",\"password\":\"pw\"}' \\\n  --compressed ;\n\
         curl 'https://shop.example/' --compressed -k"
    ));
}

#[test]
fn a_line_of_chrome_for_windows() {
    insta::assert_snapshot!(rendered(
        "curl ^\"https://shop.example/a?b=c^&d=^%^20e^\" ^\r\n  -H ^\"sec-ch-ua: ^\\^\"Chromium^\\^\";v=^\\^\"131^\\^\"^\" ^\r\n  \
         -H ^\"content-type: application/json^\" ^\r\n  --data-raw ^\"^{^\\^\"a^\\^\":^\\^\"x^\r\n\r\ny^\\^\"^}^\"\r\n\
         curl \"https://shop.example/b\" -A \"me\"\r\n"
    ));
}

#[test]
fn what_shell_scripts_have() {
    insta::assert_snapshot!(rendered(
        "#!/bin/bash\nset -e\nBASE=https://api.example\nexport LANG_CODE=de\n\
         # logs in\n$ curl -sSLu \"$LOGIN\" -XPOST $BASE/login -d user=ada -d pin=1234 --max-redirs 3 -m 1.5 | jq . > out.json\n\
         sleep 2\n\
         curl -fsS \"${BASE}/items/{a,b}?page=[1-2]&t=$(date +%s)\" -H \"Authorization: Bearer $TOKEN\" -o /dev/null\n\
         curl $BASE/x?a=1&b=2\n\
         for i in 1 2 3; do curl \"$BASE/loop/$i\"; done\n\
         cat <<EOF | curl --json @- $BASE/json\n{\"lang\": \"$LANG_CODE\"}\nEOF\n\
         wget https://other.example/\n\
         TOKEN=$(curl -s \"$BASE/token\" -d grant_type=client | jq -r '.data.token'); curl \"$BASE/me\" -H \"Authorization: Bearer $TOKEN\"\n\
         code=`curl -s -o /dev/null -w '%{http_code}' $BASE/status`\n\
         curl -X PROPFIND $BASE/dav; curl --digest -u a:b ftp://files.example/\n"
    ));
}

#[test]
fn bodies_of_every_kind() {
    insta::assert_snapshot!(rendered(
        "curl http://a/1 --data-urlencode 'q=a b&c' --data-urlencode '=x y' --data-urlencode plain --data-urlencode n@two-lines.txt\n\
         curl http://a/2 -d @two-lines.txt -d c=3\n\
         curl http://a/3 --data-binary @two-lines.txt -H 'Content-Type: text/plain'\n\
         curl http://a/4 --json '{\"a\":' --json '1}'\n\
         curl http://a/5 -F name=ada -F 'file=@photo.png' -F 'doc=@two-lines.txt;type=text/csv;charset=utf-8;filename=x.csv' -F 'text=<two-lines.txt' --form-string 'raw=@a;b'\n\
         curl http://a/6 -F a=1 -F b=2 -F a=3\n\
         curl -T photo.png http://a/7/\n\
         curl -G http://a/8?x=1 -d y=2 --data-urlencode 'z=a b'\n\
         curl http://a/9 -d @big.txt\n\
         curl http://a/10 -d @missing.txt\n\
         curl -I http://a/11\n\
         curl http://a/12 --url-query 'q=a b' --url-query '+r=a+b' -r 0-99 -e http://b/ -b 'lang=en'\n"
    ));
}

#[test]
fn options_that_are_lost_are_named() {
    insta::assert_snapshot!(rendered(
        "curl -x http://proxy:3128 --resolve a:80:127.0.0.1 --retry 3 -E me.pem --http3 -4 -n --limit-rate 1k -F 'a=b;headers=\"X: y\"' \\\n  \
         --http2 -b missing.txt -c jar.txt --interface eth0 -H 'Connection: close' -H 'no header' -z yesterday -K my.conf http://a/\n"
    ));
}

#[test]
fn files_and_ranges_of_the_shell() {
    let text = rendered(
        "curl http://a//double/{1..2} -d @- < two-lines.txt\ncurl http://a/cat -H \"X-A: $(cat photo.png)\"\n",
    );
    for words in [
        "post: /double/1",
        "post: /double/2",
        "body: a=1b=2",
        "X-A: png",
        "lost: a path that begins with two slashes",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn large_files_stay_files() {
    let imported = imported("curl http://a/ --data-binary @big.txt").unwrap();
    assert_eq!(imported.files.len(), 1);
    assert_eq!(
        imported.files[0].content,
        FileContent::Copy("big.txt".to_owned())
    );
    assert!(
        imported.plan.contains("body: \"{{ file('big.txt') }}\""),
        "{}",
        imported.plan
    );
}

#[test]
fn what_curl_refuses_is_an_error_with_its_place() {
    let check = |text: &str, expected: &str| {
        assert_eq!(imported(text).unwrap_err().to_string(), expected);
    };
    check(
        "curl http://a/\ncurl --compresed http://a/",
        "lines.sh:2:6: `--compresed` is not an option of curl; did you mean --compressed?",
    );
    check(
        "curl --request=POST http://a/",
        "lines.sh:1:6: `--request=POST` is not an option of curl; write the value as a word of its own: --request VALUE",
    );
    check(
        "curl 'http://a/",
        "lines.sh:1:6: the quote ' has no end; close the quote; within '…' a quote is written '\\''",
    );
    check(
        "curl http://a/ -d",
        "lines.sh:1:16: the option --data has no value; write the value behind it",
    );
    check(
        "hello",
        "lines.sh:1:1: no request was found in it; check that it is a whole script of this tool",
    );
}

/// A value in the quotes of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>(), marks in r#"[-'"$(){}`\\^%&|;<>\n #@=:a-dXFHcurl\[\]]{0,60}"#) {
        for text in [text.clone(), marks.clone(), format!("curl {text}"), format!("curl {marks}"), format!("curl ^\"{marks}")] {
            let _ = imported(&text);
        }
    }

    #[test]
    fn lines_of_a_known_request_come_back(
        path in "[a-z0-9/._~%-]{0,12}",
        method in prop::sample::select(vec!["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]),
        values in prop::collection::vec("[ -~é]{1,12}", 1..4),
        body in "[ -~é\n]{1,30}",
        form in 0_u8..3,
    ) {
        let headers: Vec<(String, String)> = values
            .iter()
            .map(|value| value.trim().to_owned())
            .filter(|value| !value.is_empty())
            .enumerate()
            .map(|(index, value)| (format!("x-n-{index}"), value))
            .collect();
        let body = body.replace(['@'], "a");
        let mut sent_headers = String::new();
        for (name, value) in &headers {
            sent_headers.push_str(" \\\n  -H ");
            sent_headers.push_str(&quoted(&format!("{name}: {value}")));
        }
        let option = ["-d", "--data-raw", "--data-binary"][usize::from(form)];
        let line = format!(
            "curl -X{method} http://host.test/p{path}{sent_headers} {option} {} -H 'Content-Type: text/plain'",
            quoted(&body)
        );
        let imported = imported(&line).unwrap();
        prop_assert!(imported.losses.is_empty(), "{:?}", imported.losses);
        let scalars = crate::yaml::scalars(&imported.plan);
        let value_of = |key: &str| scalars.iter().position(|text| text == key).map(|at| scalars[at + 1].clone());
        let literal = |text: &str| text.replace("{{", "{{ pick('{{') }}");
        prop_assert_eq!(value_of("body"), Some(literal(&body)));
        let url = value_of(&method.to_ascii_lowercase()).unwrap();
        let kept = format!("/p{path}");
        if !kept.contains("/.") {
            prop_assert_eq!(url, kept);
        }
        for (name, value) in &headers {
            prop_assert_eq!(value_of(name), Some(literal(value)), "{}", line);
        }
    }
}
