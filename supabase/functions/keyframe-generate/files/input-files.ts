import type { Provider } from "../provider/provider.ts";
import type { SoughtTask } from "../tasks/task.ts";
import type { Storage, StoredFile } from "./storage.ts";

/** As long as a run may wait for its start; signed addresses cannot be revoked, so no longer. */
const SIGNED_FOR_SECONDS = 3600;

type Settings = { storage: Storage; provider: Provider; publicUrl: string | null; platformUrl: string };

/**
 * An address from which the provider can read one of our files: signed, where it can reach us, else of a copy among its own
 * files (there the file is in memory for a moment). It names the prediction, so that find-orphan.ts knows whose input it is in:
 * Storage ignores the parameter, and the provider keeps it with the copy. Throws StorageError and ProviderError.
 */
export async function giveFile(
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

export type WantedFiles = Record<"reference" | "firstFrame" | "lastFrame", StoredFile | null>;

/** Where the files of a prediction's input lie. A reference's path begins with its bucket's name. */
export function wantedFiles(task: SoughtTask): WantedFiles {
  const generated = (name: string | null) => (name === null ? null : { bucket: "keyframe-outputs" as const, name });
  const reference = task.reference_image_path;
  return {
    reference: reference === null ? null : { bucket: "projects", name: reference.slice("projects/".length) },
    firstFrame: generated(task.first_frame_path),
    lastFrame: generated(task.last_frame_path),
  };
}
