import { describe, expect, test } from "vitest";
import { checkAddress } from "../../shared/webhooks/check-url.ts";
import {
  createCheckedLookup,
  type Resolve,
  type ResolvedAddress,
} from "../../supabase/functions/keyframe-deliver/send/checked-lookup.ts";
import { classifyError } from "../../supabase/functions/keyframe-deliver/send/send-error.ts";

const address = (text: string): ResolvedAddress => ({ address: text, family: text.includes(":") ? 6 : 4 });

/** What a connection to the name gets: the addresses, or the class of the failure. */
function ask(resolve: Resolve, options: { all?: boolean; allowLocal?: boolean } = {}): Promise<unknown> {
  const lookup = createCheckedLookup(resolve, { allowLocal: options.allowLocal ?? false });
  return new Promise((answered) =>
    lookup("hooks.example.com", { all: options.all ?? true }, (error, found, family) =>
      answered(error ? classifyError(error) : family === undefined ? found : [found, family]),
    ),
  );
}

const gives =
  (...found: string[]): Resolve =>
  async () =>
    found.map(address);

describe("one address", () => {
  test.each(["8.8.8.8", "1.0.0.1", "2606:4700:4700::1111", "2a00:1450:4001:81b::200e"])("%s → public", (ip) => {
    expect(checkAddress(ip)).toBeNull();
  });

  test.each([
    ["127.0.0.1", "loopback"],
    ["10.1.2.3", "private"],
    ["169.254.169.254", "linkLocal"],
    ["100.64.0.1", "carrierGradeNat"],
    ["0.0.0.0", "unspecified"],
    ["255.255.255.255", "broadcast"],
    ["192.0.2.7", "reserved"],
    ["::1", "loopback"],
    ["::ffff:8.8.8.8", "ipv4Mapped"],
    ["::8.8.8.8", "ipv4Mapped"],
    ["64:ff9b::808:808", "rfc6052"],
    ["2002:808:808::1", "6to4"],
    ["fe80::1%eth0", "linkLocal"],
    ["fd00:ec2::254", "uniqueLocal"],
  ])("%s → refused as %s", (ip, range) => {
    expect(checkAddress(ip)).toBe(`${ip} is not a public address (${range}).`);
  });

  test.each(["168.63.129.16", "4000::1", "2606:4700::1111%eth0"])("%s → refused though no range names it", (ip) => {
    expect(checkAddress(ip)).toBe(`${ip} is not a public address.`);
  });

  test.each(["", "example.com", "1.2.3.4.5", "[::1]", "8.8.8.8/24"])("%s → refused, it is none", (ip) => {
    expect(checkAddress(ip)).toBe(`${ip} is not an IP address.`);
  });

  test("beside the local stack → loopback may be used, nothing else inside", () => {
    const check = (ip: string) => checkAddress(ip, { allowLocal: true });
    expect(["127.0.0.1", "127.0.0.53", "::1", "8.8.8.8"].map(check)).toEqual([null, null, null, null]);
    expect(["10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1", "0.0.0.0"].map(check)).not.toContain(null);
  });
});

describe("what a name resolves to", () => {
  test("public A and AAAA addresses → all of them are handed to the connection", async () => {
    expect(await ask(gives("8.8.8.8", "2606:4700:4700::1111"))).toEqual([
      { address: "8.8.8.8", family: 4 },
      { address: "2606:4700:4700::1111", family: 6 },
    ]);
  });

  test("a connection that wants one address → the first", async () => {
    expect(await ask(gives("8.8.8.8", "8.8.4.4"), { all: false })).toEqual(["8.8.8.8", 4]);
  });

  test.each([
    ["a public A, a private AAAA", ["8.8.8.8", "fd00::1"]],
    ["a private A, a public AAAA", ["10.0.0.1", "2606:4700:4700::1111"]],
    ["the forbidden one last of many", ["8.8.8.8", "8.8.4.4", "1.1.1.1", "169.254.169.254"]],
    ["loopback mapped into IPv6", ["::ffff:127.0.0.1"]],
    ["what is no address", ["8.8.8.8", "example.com"]],
  ])("%s → refused altogether", async (_what, found) => {
    expect(await ask(gives(...found))).toBe("address");
    expect(await ask(gives(...found), { all: false })).toBe("address");
  });

  test("no address → dns", async () => {
    expect(await ask(gives())).toBe("dns");
  });

  test("the resolver fails → dns", async () => {
    expect(await ask(() => Promise.reject(new Error("SERVFAIL")))).toBe("dns");
  });

  test("another answer at each question → each is checked for itself", async () => {
    const answers = ["8.8.8.8", "127.0.0.1", "8.8.8.8"];
    const rebinding: Resolve = async () => [address(answers.shift() ?? "127.0.0.1")];
    expect(await ask(rebinding)).toEqual([{ address: "8.8.8.8", family: 4 }]);
    expect(await ask(rebinding)).toBe("address");
    expect(await ask(rebinding)).toEqual([{ address: "8.8.8.8", family: 4 }]);
  });
});
