import { call, type CallOptions, type StartOptions } from "./operate.ts";
import type { Settings } from "./settings.ts";
import type { BodyOf, CreatedKey, Key } from "./types.ts";

export function keyMethods(settings: Settings) {
  return {
    /** `key` is in this answer alone. Needs a session: a key cannot make keys. */
    create: async (json: BodyOf<"createKey">, options: StartOptions = {}): Promise<CreatedKey> =>
      call("createKey", {}, { ...options, json }, settings),

    /** Newest first, also those that ended in the last 30 days. */
    list: async (options: CallOptions = {}): Promise<Key[]> => (await call("listKeys", {}, options, settings)).keys,

    /** It ends at once. */
    revoke: async (keyId: string, options: CallOptions = {}): Promise<Key> =>
      call("revokeKey", { keyId }, options, settings),
  };
}
