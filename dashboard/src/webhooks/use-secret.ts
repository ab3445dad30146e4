import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useKeyframe } from "../app/services-context.ts";

/** The secret of an endpoint, read when it is asked for and forgotten when it is hidden. */
export function useSecret(webhookId: string) {
  const keyframe = useKeyframe();
  const [secret, show] = useState<string | null>(null);
  const reveal = useMutation({
    mutationFn: () => keyframe.webhooks.secret(webhookId),
    gcTime: 0,
    onSuccess: (answer) => show(answer.secret),
  });
  const hide = () => {
    show(null);
    reveal.reset();
  };
  return { secret, reveal, show, hide };
}
