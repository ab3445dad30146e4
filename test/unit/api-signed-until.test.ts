import { expect, test } from "vitest";
import { signedUntil } from "../../supabase/functions/api/rows/storage.ts";

const part = (text: string) => btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const address = (payload: string) =>
  `/object/sign/keyframe-outputs/o/p/x.png?token=${part("{}")}.${part(payload)}.c2ln`;

test("an address that Storage signed → when its token ends, whatever the time is here", () => {
  const payload = JSON.stringify({ url: "keyframe-outputs/x?>.png", iat: 1_700_000_000, exp: 1_700_003_600 });
  expect(signedUntil(address(payload))).toEqual(new Date("2023-11-14T23:13:20Z"));
  expect(signedUntil(`${address(payload)}&download=`)).toEqual(new Date("2023-11-14T23:13:20Z"));
});

test.for<[string, string]>([
  ["no token", "/object/sign/keyframe-outputs/x.png"],
  ["a token that is no JWT", "/object/sign/keyframe-outputs/x.png?token=abc"],
  ["a token that is not base64", "/object/sign/keyframe-outputs/x.png?token=a.b.c"],
  ["a payload that is not JSON", address("exp")],
  ["a token without an end", address("{}")],
  ["an end that is no time", address('{"exp":"soon"}')],
])("%s → null", ([, url]) => {
  expect(signedUntil(url)).toBeNull();
});
