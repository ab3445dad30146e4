import ipaddr from "ipaddr.js";

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
