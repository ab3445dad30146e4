import type { StoredFile } from "./storage.ts";
import type { SoughtTask } from "../tasks/task.ts";

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
