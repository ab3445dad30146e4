import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { KeyframeError, type Step } from "../../../client/index.ts";
import { randomKey } from "../../../client/random-key.ts";
import { useKeyframe } from "../app/services-context.ts";
import { storeRun } from "../projects/store-run.ts";
import { type Choices, startRun } from "./start-run.ts";

/**
 * Starts a step; a second click while that is under way does nothing. After a lost answer the same choices are sent under the
 * same key, so that a run which was started nevertheless is found, and not paid for twice.
 */
export function useStartRun(projectId: string, step: Step) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const sent = useRef<{ body: string; key: string } | null>(null);
  const mutationKey = ["start", projectId, step];
  const mutation = useMutation({
    mutationKey,
    mutationFn: (choices: Choices) => {
      const body = JSON.stringify(choices);
      if (sent.current?.body !== body) sent.current = { body, key: randomKey() };
      return startRun(keyframe, { projectId, step }, choices, { idempotencyKey: sent.current.key });
    },
    onSuccess: (run) => {
      sent.current = null;
      storeRun(queries, run);
    },
    onError: (error) => {
      const isRefused = error instanceof KeyframeError && error.status !== null && error.status < 500;
      if (isRefused) sent.current = null;
    },
  });
  return {
    start: (choices: Choices) => {
      if (queries.isMutating({ mutationKey }) === 0) mutation.mutate(choices);
    },
    isStarting: mutation.isPending,
    error: mutation.error,
  };
}
