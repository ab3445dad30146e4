import { z } from "zod";
import type { Lite } from "./create-lite.ts";
import { renameSignedUrls } from "./storage-answer.ts";

const requestSchema = z.object({ expiresIn: z.number(), paths: z.array(z.string()).max(1_000) });
const signedSchema = z.object({ signedURL: z.string() });

/** Some of lite's connections, and not all: others want to be served meanwhile. */
const AT_ONCE = 4;

/**
 * Signs several files of a bucket. lite's own route for it takes the request for one with an empty path, so each file
 * is signed by itself; one that the caller may not read has an error in its place, as hosted.
 */
export async function signMany(
  request: Request,
  headers: Headers,
  url: URL,
  bucket: string,
  lite: Lite,
): Promise<Response> {
  const wanted = requestSchema.safeParse(await request.json().catch(() => null));
  if (!wanted.success) {
    return Response.json(
      { statusCode: "400", error: "Error", message: z.prettifyError(wanted.error) },
      { status: 400 },
    );
  }
  const { expiresIn, paths } = wanted.data;
  const body = JSON.stringify({ expiresIn });
  const one = new Headers(headers);
  one.delete("content-length");
  const sign = async (path: string) => {
    const target = new URL(`/storage/v1/object/sign/${bucket}/${path}`, url);
    const response = await lite.fetch(new Request(target, { method: "POST", headers: one, body }));
    const answer = signedSchema.safeParse(await (await renameSignedUrls(response, "/object/sign/")).json());
    const error = answer.success ? null : "Either the object does not exist or you do not have access to it";
    return { path, error, signedURL: answer.data?.signedURL ?? null };
  };
  const signed = [];
  for (let at = 0; at < paths.length; at += AT_ONCE) {
    signed.push(...(await Promise.all(paths.slice(at, at + AT_ONCE).map(sign))));
  }
  return Response.json(signed);
}
