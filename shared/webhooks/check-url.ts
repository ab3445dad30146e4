import ipaddr from "ipaddr.js";

const MAX_CHARACTERS = 2048;
const FIRST_UNPRIVILEGED_PORT = 1024;

/** Names that mean something only inside a network. What other names resolve to is checked when connecting. */
const INSIDE = ["localhost", "localdomain", "local", "internal", "intranet", "lan", "corp", "home", "home.arpa"];

const IPV4 = /^\d+\.\d+\.\d+\.\d+$/;
const NAME = /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Why a webhook URL may not be used, as a sentence for its owner; null when it may. Looks at the text alone, so it serves
 * registration; checkAddress decides about what the name resolves to, at connect time.
 * The URL parser undoes the disguises of a host (decimal, octal, hex, short forms, percent signs, wide digits), and its
 * reading is the one that is connected to. The characters refused here are also refused by the table's own check.
 */
export function checkUrl(given: string, rules: AddressRules = {}): string | null {
  const { allowLocal = false } = rules;
  if (given.length > MAX_CHARACTERS) return `The URL is longer than ${MAX_CHARACTERS} characters.`;
  if (/[\s\p{C}\\]/u.test(given)) return "The URL must not contain spaces, control characters or backslashes.";
  if (given.includes("@")) return "The URL must not carry a user name or password. Write an @ in its path as %40.";
  if (given.includes("#")) return "The URL must not have a fragment (#).";
  if (!(allowLocal ? /^https?:\/\/[^/?]/ : /^https:\/\/[^/?]/).test(given)) return "The URL must begin with https://.";
  if (!URL.canParse(given)) return "The URL cannot be read. Check its host and port.";
  const { hostname, port } = new URL(given);
  if (port !== "" && port !== "443" && Number(port) < FIRST_UNPRIVILEGED_PORT) {
    return `The port must be 443 or at least ${FIRST_UNPRIVILEGED_PORT}.`;
  }
  return checkHost(hostname, rules);
}

function checkHost(host: string, rules: AddressRules): string | null {
  if (host.startsWith("[")) return checkAddress(host.slice(1, -1), rules);
  if (IPV4.test(host)) return checkAddress(host, rules);
  const name = host.replace(/\.+$/, "");
  const inside = INSIDE.find((suffix) => name === suffix || name.endsWith(`.${suffix}`));
  if (name === host && inside === "localhost" && rules.allowLocal) return null;
  if (inside !== undefined) return `The host must be public: names under ${inside} are not.`;
  if (name !== host) return "Write the host without the dot at its end.";
  if (!NAME.test(host)) return "The host must be a full, public name such as hooks.example.com.";
  return null;
}

/** `allowLocal`: loopback (and http) too. Only for a receiver beside the local stack. */
export type AddressRules = { allowLocal?: boolean };

/** The internet's IPv6. Everything outside is for special use, such as ::10.0.0.1, though a list may not name it. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");

/** Public by its number, yet answered by the cloud's own agent: metadata of the machine that asks. */
const METADATA_IPV4 = ["168.63.129.16"];

/**
 * Why an IP address (as a resolver or a URL's host gives it, without brackets) may not be connected to; null when it may.
 * Only global unicast addresses may: not loopback, private, link-local, shared (CGNAT), multicast, reserved, documentation or
 * metadata addresses, nor IPv6 that carries an IPv4 address inside (mapped, NAT64, 6to4, Teredo), whatever that one is.
 */
export function checkAddress(ip: string, { allowLocal = false }: AddressRules = {}): string | null {
  if (!ipaddr.isValid(ip)) return `${ip} is not an IP address.`;
  const address = ipaddr.parse(ip);
  const range = address.range();
  if (allowLocal && range === "loopback") return null;
  const isPublic =
    address instanceof ipaddr.IPv4
      ? !METADATA_IPV4.includes(address.toString())
      : address.match(GLOBAL_IPV6) && !address.zoneId;
  if (range === "unicast" && isPublic) return null;
  return `${ip} is not a public address${range === "unicast" ? "" : ` (${range})`}.`;
}
