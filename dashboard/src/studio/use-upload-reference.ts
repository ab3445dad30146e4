import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useServices } from "../app/services-context.ts";
import { showUploaded } from "./use-reference-address.ts";

/** Uploads a reference image and says how far it is; another upload, and leaving the page, cut short the one before. */
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
    /** How much of it has gone out, from 0 to 1. */
    fraction,
    stop: () => {
      running.current?.abort();
      mutation.reset();
    },
  };
}
