import type { Provider } from "../provider/provider.ts";
import type { Storage, StoredFile } from "../files/storage.ts";

/** As long as a provider run may wait for its start. No longer, because signed URLs cannot be revoked. */
const SIGNED_FOR_SECONDS = 3600;

type Settings = { storage: Storage; provider: Provider; publicUrl: string | null; platformUrl: string };

/**
 * A URL from which the provider can read an input file: a signed URL, or an upload to the provider when it cannot reach the platform
 * (then the file is in memory for a moment). The prediction is named in the URL or the upload, so that find-orphan.ts recognises the
 * run. Storage ignores the parameter. Throws StorageError and ProviderError.
 */
export async function inputFileUrl(
  file: StoredFile,
  predictionId: string,
  settings: Settings,
  signal: AbortSignal,
): Promise<string> {
  const { storage, provider, publicUrl, platformUrl } = settings;
  if (publicUrl === null) {
    const copy = await storage.download(file, signal);
    const name = file.name.slice(file.name.lastIndexOf("/") + 1);
    return await provider.upload(new File([copy], name, { type: copy.type }), predictionId, signal);
  }
  const url = await storage.sign(file, SIGNED_FOR_SECONDS, signal);
  return `${publicUrl}${url.slice(platformUrl.length)}&prediction=${predictionId}`;
}
