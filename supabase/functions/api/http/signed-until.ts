import { z } from "zod";

const claims = z.object({ exp: z.int().positive() });

/**
 * When a signed address of Storage ends, by the claim in its own token: Storage's clock decides, and this machine's may be
 * wrong. Null where the address has no token that can be read. Nothing is verified; that is Storage's part.
 */
export function signedUntil(url: string): Date | null {
  const payload = /[?&]token=[^.&]+\.([\w-]+)\./.exec(url)?.[1];
  if (payload === undefined) return null;
  try {
    const { exp } = claims.parse(JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/"))));
    return new Date(exp * 1000);
  } catch {
    return null;
  }
}
