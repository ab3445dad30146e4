import { useLocalStorage } from "@mantine/hooks";
import { type QueryClient, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useServices } from "../services.ts";

/** The path; null when the user removed it. Undefined: never chosen in this browser. */
type Choice = { path: string | null };

export type ReferenceImage = { path: string | null; choose: (path: string | null) => void };

/**
 * The reference image for the next frames. Predictions store it, projects do not: the choice is kept in this browser, and
 * starts with the image of the latest first frame.
 */
export function useReferenceImage(projectId: string): ReferenceImage {
  const { callPlatform } = useServices();
  const [choice, setChoice] = useLocalStorage<Choice | undefined>({
    key: `keyframe-reference-${projectId}`,
    getInitialValueInEffect: false,
    deserialize: readChoice,
  });
  const { data: lastUsed } = useQuery({
    queryKey: ["last-reference", projectId],
    queryFn: async ({ signal }) => {
      const latest = `project_id=eq.${projectId}&step=eq.first-frame&order=created_at.desc,id.desc&limit=1`;
      const data = await callPlatform(`/rest/v1/predictions?select=reference_image_path&${latest}`, { signal });
      return readPath((data as { reference_image_path: unknown }[])[0]?.reference_image_path);
    },
    enabled: choice === undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return { path: choice === undefined ? (lastUsed ?? null) : choice.path, choose: (path) => setChoice({ path }) };
}

const readPath = (given: unknown): string | null => (typeof given === "string" ? given : null);

/** Local storage may hold anything. */
function readChoice(text: string | undefined): Choice | undefined {
  try {
    const given: unknown = JSON.parse(text ?? "");
    if (typeof given === "object" && given !== null && "path" in given) return { path: readPath(given.path) };
  } catch {
    // Not JSON: treat as nothing chosen.
  }
  return undefined;
}

const LIFE_S = 3600;
const referenceKey = (path: string | null) => ["reference", path] as const;

/** A signed URL of a reference image. Null `data`: no file at this path. */
export function useReferenceAddress(path: string | null) {
  const { callPlatform, config } = useServices();
  return useQuery({
    queryKey: referenceKey(path),
    queryFn: async () => {
      const name = path?.replace(/^projects\//, "") ?? "";
      const sign = callPlatform(`/storage/v1/object/sign/projects/${name}`, { json: { expiresIn: LIFE_S } });
      const answer = (await sign.catch(() => null)) as { signedURL: string } | null;
      return answer === null ? null : `${config.supabaseUrl}/storage/v1${answer.signedURL}`;
    },
    enabled: path !== null,
    staleTime: (LIFE_S / 2) * 1000,
    refetchInterval: (LIFE_S / 2) * 1000,
    retry: false,
  });
}

/** Shows a new upload from the local file. */
function showUploaded(queries: QueryClient, path: string, file: Blob): void {
  queries.setQueryData(referenceKey(path), URL.createObjectURL(file)); // refers to the file, and does not copy it
}

/** Uploads with progress. A new upload or leaving the page aborts the previous one. */
export function useUploadReference(onUploaded: (path: string) => void) {
  const { keyframeUploading } = useServices();
  const queries = useQueryClient();
  const running = useRef<AbortController | null>(null);
  const [fraction, setFraction] = useState(0);
  useEffect(() => () => running.current?.abort(), []);
  const mutation = useMutation({
    mutationFn: async (file: Blob) => {
      running.current?.abort();
      const controller = new AbortController();
      running.current = controller;
      const { signal } = controller;
      setFraction(0);
      const keyframe = keyframeUploading((gone) => !signal.aborted && setFraction(gone));
      const { referenceImagePath } = await keyframe.uploadReferenceImage(file, { signal });
      return referenceImagePath;
    },
    onSuccess: (path, file) => {
      showUploaded(queries, path, file);
      onUploaded(path);
    },
  });
  return {
    ...mutation,
    /** Uploaded fraction, 0 to 1. */
    fraction,
    stop: () => {
      running.current?.abort();
      mutation.reset();
    },
  };
}
