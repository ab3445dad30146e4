import ipaddr from "ipaddr.js";

const MAX_CHARACTERS = 2048;
const FIRST_UNPRIVILEGED_PORT = 1024;

/** Names that resolve only inside a network. Other names are checked when connecting. */
const INSIDE = ["localhost", "localdomain", "local", "internal", "intranet", "lan", "corp", "home", "home.arpa"];

const IPV4 = /^\d+\.\d+\.\d+\.\d+$/;
const NAME = /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * A sentence for the owner that says why a webhook URL may not be used; null when it may. It checks the text only; checkAddress checks
 * the resolved addresses at connect time. The URL parser normalises disguised hosts (decimal, octal, hex, short forms, percent signs,
 * wide digits), and its result is used to connect. The table's check refuses the same characters.
 */
export function checkUrl(given: string, rules: AddressRules = {}): string | null {
  const { allowLocal = false } = rules;
  if (given.length > MAX_CHARACTERS) return `The URL is longer than ${MAX_CHARACTERS} characters.`;
  if (/[\s\p{C}\\]/u.test(given)) return "The URL must not contain spaces, control characters or backslashes.";
  if (given.includes("@")) return "The URL must not carry a user name or password. Write an @ in its path as %40.";
  if (given.includes("#")) return "The URL must not have a fragment (#).";
  if (!(allowLocal ? /^https?:\/\/[^/?]/ : /^https:\/\/[^/?]/).test(given)) {
    return `The URL must begin with ${allowLocal ? "http:// or https://" : "https://"}.`;
  }
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

/** `allowLocal` also allows loopback and http. It is only for the local stack. */
export type AddressRules = { allowLocal?: boolean };

/** Global unicast IPv6. Everything else, such as ::10.0.0.1, is for special use, even where the library does not say so. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");

/** A public address at which Azure's agent answers with metadata of the machine. */
const METADATA_IPV4 = ["168.63.129.16"];

/**
 * A sentence that says why an IP address (without brackets) may not be connected to; null when it may. Only global unicast addresses
 * may: not loopback, private, link-local, shared (CGNAT), multicast, reserved, documentation or metadata addresses, nor IPv6 addresses
 * that contain an IPv4 address (mapped, NAT64, 6to4, Teredo).
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
