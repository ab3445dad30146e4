import { ApiError } from "../errors.ts";

/**
 * Reads a body as UTF-8 text; more than `maxBytes` is never held. One whose length was told is read in one piece, since HTTP
 * admits no more than that; another is counted while it is read. Throws ApiError.
 */
export async function readText(request: Request, maxBytes: number): Promise<string> {
  const tooLarge = () => new ApiError("payload_too_large", `The body is larger than the ${maxBytes} bytes allowed.`);
  const told = Number(request.headers.get("content-length") ?? Number.NaN);
  if (told > maxBytes) throw tooLarge();
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    if (told >= 0) return decoder.decode(await request.arrayBuffer());
    let bytes = 0;
    let text = "";
    for await (const chunk of request.body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw tooLarge();
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError("invalid_request", "The body broke off or is not UTF-8. Send it again.", { cause: error });
  }
}
