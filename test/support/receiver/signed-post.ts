import { sign } from "../../../local/sign.ts";

/** Sends a Standard Webhooks request signed with `secret`, and returns the status of its answer. */
export async function signedPost(url: string, secret: string, body = "{}"): Promise<number> {
  const signed = sign(secret, `msg_${crypto.randomUUID()}`, new Date(), body);
  const headers = { "content-type": "application/json", ...signed };
  const response = await fetch(url, { method: "POST", headers, body, redirect: "manual" });
  await response.body?.cancel();
  return response.status;
}
