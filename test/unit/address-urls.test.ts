import { describe, expect, test } from "vitest";
import { checkAddress, checkUrl } from "../../shared/webhooks/check-url.ts";

// What is done at connect time with a name is in test/security/addresses.test.ts.

const words = (text: string) => text.trim().split(/\s+/);
const atHosts = (text: string) => words(text).map((host) => `https://${host}/`);

/** Each has one meaning for a reader, and another for the code that connects. */
const REFUSED: Record<string, string[]> = {
  "another scheme or none": [
    "",
    ...words(`
      example.com //example.com/ http://example.com/ HTTPS://example.com/ ftp://example.com/ file:///etc/passwd wss://example.com/
      gopher://example.com:70/ javascript:alert(1) data:text/plain,hello https:example.com https:/example.com https:///example.com
      https:// https://?x`),
  ],
  "a port below 1024 that is not 443, or no port at all": atHosts(`
    example.com:22 example.com:25 example.com:80 example.com:1023 example.com:0 example.com:65536 example.com:-1 example.com:443x`),
  "credentials, a fragment, or what hides them": words(String.raw`
    https://user:password@example.com/ https://user@example.com/ https://@example.com/ https://example.com@127.0.0.1/
    https://example.com:443@127.0.0.1/ https://example.com/#there https://example.com#@127.0.0.1/ https://example.com/#
    https://example.com\@127.0.0.1/ https://127.0.0.1\.example.com/ https:\\example.com/`),
  "spaces and control characters, which a parser drops": [
    " https://example.com/",
    "https://example.com/ ",
    "https://example.com:4 43/",
    "https://exam\tple.com/",
    "https://exam\nple.com/",
    "https://example.com/\r\nX-Injected: 1",
    "https://exa\u00admple.com/",
    "https://exa\u200bmple.com/",
    ..."\u0000\u007f\u0085\u00a0\u2028\u202e\ufeff\ud800".split("").map((sign) => `https://example.com/${sign}`),
  ],
  "more than 2048 characters": [`https://example.com/${"a".repeat(2029)}`],
  "names inside a network": atHosts(`
    localhost LOCALHOST localhost. localhost.. anything.localhost localhost.localdomain printer.local printer.local. db.internal
    metadata.google.internal metadata.google.internal. router.lan nas.home nas.home.arpa wiki.corp wiki.intranet intranet postgres metadata
    kubernetes.default.svc.cluster.local ⓛocalhost ｌｏｃａｌｈｏｓｔ local%68ost`),
  "names that are none": atHosts(`
    example.com. example..com .example.com -a.example.com example.c*m exa%00mple.com exa%20mple.com xn--a.example.com xn--127.0.0.1
    ${"a".repeat(64)}.example.com ${"a.".repeat(130)}com example.123 1.2.3.4.5 999.1.1.1`),
  "loopback in IPv4": atHosts(`
    127.0.0.1 127.0.0.1:8443 127.255.255.254 127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0x7F.0x0.0x0.0x1 0177.0.0.1 017700000001
    0177.0x0.1 127.0.0.1. １２７.０.０.１ ①②⑦.⓪.⓪.① 127。0。0。1 %31%32%37.0.0.1 0 0.0.0.0 0x0`),
  "other addresses in IPv4 that are not public": atHosts(`
    10.0.0.1 10.255.255.255 167772161 172.16.0.1 172.31.255.255 192.168.1.1 0xc0a80101 192.168.257 169.254.169.254 2852039166 0xa9fea9fe
    0251.0376.0251.0376 100.64.0.1 100.100.100.200 100.127.255.255 168.63.129.16 192.0.0.192 192.0.2.1 198.51.100.1 203.0.113.1
    198.18.0.1 192.88.99.1 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255`),
  "addresses in IPv6 that are not public, or carry IPv4 inside": [
    "https://[::1/",
    ...atHosts(`
      [::1] [0:0:0:0:0:0:0:1] [::] [::127.0.0.1] [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:0a00:0001] [::ffff:8.8.8.8]
      [::ffff:0:127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::169.254.169.254] [64:ff9b:1::10.0.0.1] [2002:7f00:1::] [2002:a00:1::1]
      [2001:0:7f00:1::1] [fe80::1] [fe80::1%25eth0] [fe80::1%eth0] [2606:4700:4700::1111%25eth0] [fc00::1] [fd00:ec2::254] [fec0::1]
      [ff02::1] [100::1] [2001:db8::1] [3fff::1] [2001:2::1] [4000::1] [1::1] [127.0.0.1]`),
  ],
};

test.each([
  ...words(`
    https://example.com https://example.com/ https://hooks.example.com/keyframe?tenant=4&x=%40me https://hooks.example.com:443/
    https://hooks.example.com:1024/ https://hooks.example.com:8443/in https://EXAMPLE.com/Case https://bücher.example/hook
    https://xn--bcher-kva.example/hook https://a_b.example.com/ https://localhost.example.com/ https://internal.example.com/
    https://8.8.8.8/ https://1.1.1.1:8443/hook https://[2606:4700:4700::1111]/ https://[2606:4700:4700::1111]:8443/hook`),
  `https://example.com/${"a".repeat(2028)}`,
])("%s → may be used", (url) => {
  expect(checkUrl(url)).toBeNull();
});

describe.each(Object.entries(REFUSED))("%s", (_kind, urls) => {
  test.each(urls.map((url) => [JSON.stringify(url), url]))("%s → refused with a sentence", (_shown, url) => {
    expect(checkUrl(url)).toMatch(/^\S.{10,200}\.$/u);
  });
});

describe("a receiver beside the local stack", () => {
  test.each(
    words(`
      http://localhost:3000/hook http://127.0.0.1:3000/hook http://127.0.0.1/hook http://[::1]:3000/ https://receiver.localhost:8443/
      http://example.com/ https://example.com/`),
  )("%s → may be used", (url) => {
    expect(checkUrl(url, { allowLocal: true })).toBeNull();
  });

  test.each(
    words(`
      ftp://127.0.0.1/ http://user@127.0.0.1/ http://127.0.0.1/#x http://127.0.0.1:22/ http://127.0.0.1:80@10.0.0.1/
      http://10.0.0.1:3000/ http://169.254.169.254/ http://0.0.0.0:3000/ http://[::ffff:127.0.0.1]:3000/ http://localhost./
      http://printer.local/ http://metadata.google.internal/`),
  )("%s → still refused", (url) => {
    expect(checkUrl(url, { allowLocal: true })).not.toBeNull();
  });
});

describe("an address that a name resolves to", () => {
  test.each(["8.8.8.8", "1.0.0.1", "2606:4700:4700::1111", "2a00:1450:4001:81b::200e"])("%s → public", (ip) => {
    expect(checkAddress(ip)).toBeNull();
  });

  test.each([
    ["169.254.169.254", "is not a public address (linkLocal)"],
    ["::ffff:8.8.8.8", "is not a public address (ipv4Mapped)"],
    ["::8.8.8.8", "is not a public address (ipv4Mapped)"],
    ["fe80::1%eth0", "is not a public address (linkLocal)"],
    ["168.63.129.16", "is not a public address"],
    ["4000::1", "is not a public address"],
    ["2606:4700::1111%eth0", "is not a public address"],
    ["", "is not an IP address"],
    ["example.com", "is not an IP address"],
    ["[::1]", "is not an IP address"],
    ["8.8.8.8/24", "is not an IP address"],
  ])("%s → refused: it %s", (ip, reason) => {
    expect(checkAddress(ip)).toBe(`${ip} ${reason}.`);
  });

  test("beside the local stack → loopback may be used, nothing else inside", () => {
    const check = (ip: string) => checkAddress(ip, { allowLocal: true });
    expect(["127.0.0.1", "127.0.0.53", "::1", "8.8.8.8"].map(check)).toEqual([null, null, null, null]);
    expect(["10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1", "0.0.0.0"].map(check)).not.toContain(null);
  });
});
