import { type QueryClient, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useChangeProject } from "../projects/project-queries.ts";
import { useServices } from "../services.ts";

const LIFE_S = 3600;
const referenceKey = (path: string) => ["reference", path] as const;

/** A signed URL of an uploaded image. Null `data`: no file at this path. */
export function useReferenceAddress(path: string | null) {
  const { callPlatform, config } = useServices();
  return useQuery({
    queryKey: referenceKey(path ?? ""),
    enabled: path !== null,
    queryFn: async () => {
      const sign = callPlatform(`/storage/v1/object/sign/${path}`, { json: { expiresIn: LIFE_S } });
      const answer = (await sign.catch(() => null)) as { signedURL: string } | null;
      return answer === null ? null : `${config.supabaseUrl}/storage/v1${answer.signedURL}`;
    },
    staleTime: (LIFE_S / 2) * 1000,
    refetchInterval: (LIFE_S / 2) * 1000,
    retry: false,
  });
}

/** Shows a new upload from the local file. */
function showUploaded(queries: QueryClient, path: string, file: Blob): void {
  queries.setQueryData(referenceKey(path), URL.createObjectURL(file)); // refers to the file, and does not copy it
}

/** Uploads an image for one step. */
export function useAddReference(onAdded: (path: string) => void) {
  const { keyframe } = useServices();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (file: Blob) => {
      const { referenceImagePath } = await keyframe.uploadReferenceImage(file);
      showUploaded(queries, referenceImagePath, file);
      return referenceImagePath;
    },
    onSuccess: onAdded,
  });
}

/** Uploads with progress, then makes it the project's image. A new upload or leaving the page aborts the previous one. */
export function useUploadReference(projectId: string) {
  const { keyframeUploading } = useServices();
  const queries = useQueryClient();
  const change = useChangeProject(projectId);
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
      const uploaded = await keyframe.uploadReferenceImage(file, { signal });
      showUploaded(queries, uploaded.referenceImagePath, file);
      await change.mutateAsync({ change: uploaded });
    },
  });
  return {
    ...mutation,
    /** Uploaded fraction, 0 to 1. */
    fraction,
    /** False once the image is stored and becomes the project's: that could happen after the stop. */
    canStop: !change.isPending,
    stop: () => {
      running.current?.abort();
      mutation.reset();
    },
  };
}

/** The service checks the bytes itself. */
export const KINDS = ["image/png", "image/jpeg", "image/webp"];
const LIMIT_BYTES = 10 * 1024 * 1024;

/** Why an image cannot be uploaded; null when it can. */
export function refuseImage({ type, size }: File): string | null {
  if (!KINDS.includes(type)) return "Not a PNG, JPEG or WebP image.";
  return size > LIMIT_BYTES ? "The image is larger than 10 MiB. Choose a smaller one." : null;
}
