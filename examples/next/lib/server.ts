import { createServerClient } from "@supabase/ssr";
import { createKeyframeClient, KeyframeError } from "keyframe-client";
import { cookies } from "next/headers";
import { notFound, redirect } from "next/navigation";
import { apikey, url } from "./settings";

/** A client for the user of this request. Make one for each request: the next one has another user. */
export async function keyframeOfRequest() {
  const jar = await cookies();
  const supabase = createServerClient(url, apikey, {
    cookies: { getAll: () => jar.getAll(), setAll: () => undefined }, // proxy.ts has refreshed the session
  });
  return createKeyframeClient({
    url,
    apikey,
    getToken: async () => (await supabase.auth.getSession()).data.session?.access_token ?? null,
  });
}

/** The page for a read that was refused: the sign-in, or "not found" for what this user does not have. */
export function refuse(error: unknown): never {
  if (error instanceof KeyframeError && error.code === "unauthorized") redirect("/sign-in");
  // An address that is not an id is invalid_request.
  if (error instanceof KeyframeError && (error.code === "not_found" || error.code === "invalid_request")) notFound();
  throw error;
}
