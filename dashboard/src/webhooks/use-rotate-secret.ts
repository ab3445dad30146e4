import { useMutation } from "@tanstack/react-query";
import { useKeyframe } from "../app/services-context.ts";
import { useRepeatKey } from "./use-repeat-key.ts";

/** Makes a new secret; the old one signs beside it for so many hours. */
export function useRotateSecret(webhookId: string) {
  const keyframe = useKeyframe();
  const { keyFor, forget } = useRepeatKey();
  return useMutation({
    mutationFn: (overlapHours: number) =>
      keyframe.webhooks.rotate(webhookId, { overlapHours }, { idempotencyKey: keyFor(overlapHours) }),
    gcTime: 0,
    onSuccess: forget,
  });
}
