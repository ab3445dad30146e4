import { Center, Text, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { useDidUpdate } from "@mantine/hooks";
import type { Prediction, Step } from "../../../client/index.ts";
import { isRunning } from "../queries/project-queries.ts";
import { usePredictions } from "../queries/use-predictions.ts";
import { SmallButton } from "../ui/Buttons.tsx";
import link from "../ui/cover-link.module.css";
import { costWords } from "./cost-words.ts";
import { Thumb } from "./Sources.tsx";
import { StatusIcon } from "./Status.tsx";
import { STATUS_WORD, STEP_NAME } from "./status-words.ts";
import classes from "./strip.module.css";
import screen from "./takes.module.css";
import { isUsed, type TakesProps } from "./use-takes.ts";

/** The most takes that one start makes. */
const MAX_SHOWN = 8;

/** The takes of a step, newest first, each with its price. A press uses a take. */
export function Takes({ project, selection, view, step }: TakesProps & { step: Step }) {
  const latest = project.predictions[step];
  const list = usePredictions(project.projectId, step, latest !== null);
  useDidUpdate(() => void list.refetch(), [latest?.predictionId]); // started in another tab
  if (latest === null) return null;
  const all = list.data ?? [];
  const used = all.find((take) => isUsed(project, take));
  const shown = all.filter((take, at) => at < MAX_SHOWN || take === used);
  const nameOf = (take: Prediction) => (list.hasNextPage ? "Take" : `Take ${all.length - all.indexOf(take)}`);
  const name = STEP_NAME[step].toLowerCase();
  return (
    <div>
      {shown.length > 1 && (
        <ol className={`plain-list ${classes.takes}`} aria-label={`Takes of the ${name}`}>
          {shown.map((take) => (
            <li key={take.predictionId} className={screen.cell} data-status={take.status}>
              <TakeCell take={take} name={nameOf(take)} isUsed={take === used} onUse={() => selection.use(take)} />
            </li>
          ))}
        </ol>
      )}
      <SmallButton
        size="compact-sm"
        aria-label={`All takes: ${name}`}
        aria-haspopup="dialog"
        onClick={() => view.show({ step, takes: step })}
      >
        All takes
      </SmallButton>
    </div>
  );
}

type CellProps = { take: Prediction; name: string; isUsed: boolean; onUse: () => void };

function TakeCell({ take, name, isUsed: isPressed, onUse }: CellProps) {
  const { status, output } = take;
  const state = status === "succeeded" ? "" : STATUS_WORD[status];
  const words = [state, isRunning(take) ? "" : costWords(take)].filter((one) => one !== "").join(", ");
  if (output === null)
    return (
      <>
        <Center className={screen.thumb} style={{ display: "flex" }} aria-hidden>
          <StatusIcon prediction={take} size={18} />
        </Center>
        <Text size="xs">
          <VisuallyHidden>{name}: </VisuallyHidden>
          {words}
        </Text>
      </>
    );
  return (
    <>
      <span aria-hidden>
        <Thumb prediction={take} alt={name} seconds={(output.durationSeconds ?? 0) / 2} />
      </span>
      <UnstyledButton
        className={link.cover}
        title={isPressed ? "This take is used" : "Use this take"}
        aria-label={`${name}: ${words}`}
        aria-pressed={isPressed}
        onClick={onUse}
      >
        <Text span size="xs">
          {words}
        </Text>
      </UnstyledButton>
    </>
  );
}
