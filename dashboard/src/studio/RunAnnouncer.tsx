import { VisuallyHidden } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import type { ProjectWithPredictions } from "../../../client/index.ts";
import { FILM_ORDER, STATUS_WORD, STEP_NAME } from "../projects/step-words.ts";

/** Says each change of a status to who listens; progress and time it keeps to itself. */
export function RunAnnouncer({ predictions }: Pick<ProjectWithPredictions, "predictions">) {
  const now = FILM_ORDER.map((step) => {
    const run = predictions[step];
    return run === null ? "" : `${STEP_NAME[step]}: ${STATUS_WORD[run.status]}.`;
  });
  const [text, setText] = useState("");
  const before = useRef(now);
  const all = now.join(" ");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the joined text stands for the list
  useEffect(() => {
    const changed = now.filter((words, at) => words !== "" && words !== before.current[at]);
    before.current = now;
    if (changed.length > 0) setText(changed.join(" "));
  }, [all]);
  return <VisuallyHidden role="status">{text}</VisuallyHidden>;
}
