import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useKeyframe } from "../app/services-context.ts";
import { showUploaded } from "./use-reference-address.ts";

/** Uploads a reference image; another upload, and leaving the page, cut short the one before. */
export function useUploadReference(onUploaded: (path: string) => void) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  const mutation = useMutation({
    mutationFn: async (file: Blob) => {
      running.current?.abort();
      const controller = new AbortController();
      running.current = controller;
      const { referenceImagePath } = await keyframe.uploadReferenceImage(file, { signal: controller.signal });
      return referenceImagePath;
    },
    onSuccess: (path, file) => {
      showUploaded(queries, path, file);
      onUploaded(path);
    },
  });
  return {
    ...mutation,
    stop: () => {
      running.current?.abort();
      mutation.reset();
    },
  };
}
