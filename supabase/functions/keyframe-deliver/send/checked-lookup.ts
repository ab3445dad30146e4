import type { LookupFunction } from "node:net";
import { type AddressRules, checkAddress } from "../../../../shared/webhooks/check-url.ts";
import { SendError } from "./send-error.ts";

export type ResolvedAddress = { address: string; family: number };

/** All A and AAAA addresses of a name. Rejects or returns none when there are none. */
export type Resolve = (hostname: string) => Promise<ResolvedAddress[]>;

/**
 * The `lookup` of a connection. The connection uses the returned addresses, so nothing can change after the check. One forbidden address
 * among several refuses the name. Not called for IP addresses, which checkUrl checks.
 */
export function createCheckedLookup(resolve: Resolve, rules: AddressRules): LookupFunction {
  async function find(hostname: string): Promise<[ResolvedAddress, ...ResolvedAddress[]]> {
    const [first, ...others] = await resolve(hostname).catch(() => []);
    if (first === undefined) throw new SendError("dns", "The name does not resolve.");
    for (const { address } of [first, ...others]) {
      const reason = checkAddress(address, rules);
      if (reason !== null) throw new SendError("address", reason);
    }
    return [first, ...others];
  }

  return (hostname, options, callback) => {
    find(hostname).then(
      (found) => (options.all ? callback(null, found) : callback(null, found[0].address, found[0].family)),
      (error: SendError) => callback(error, ""),
    );
  };
}
