import { Center, Text, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { useDidUpdate } from "@mantine/hooks";
import type { Prediction, ProjectWithPredictions, Step } from "../../../client/index.ts";
import { isRunning } from "../queries/project-queries.ts";
import { usePredictions } from "../queries/use-predictions.ts";
import { Thumb } from "./Sources.tsx";
import screen from "./takes.module.css";
import { StatusIcon } from "./status.tsx";
import { STATUS_WORD, STEP_NAME } from "./status-words.ts";
import { SmallButton } from "../ui/buttons.tsx";
import link from "../ui/cover-link.module.css";
import { costWords } from "./cost-words.ts";
import { isUsed } from "./AboutTake.tsx";
import classes from "./strip.module.css";

/** As many as one start makes. */
const MOST_SHOWN = 8;

type Props = {
  project: ProjectWithPredictions;
  step: Step;
  onUse: (take: Prediction) => void;
  /** Opens all takes, with their inputs. */
  onAll: () => void;
};

/** The takes of a step, newest first, each with its price. A press uses one. */
export function Takes({ project, step, onUse, onAll }: Props) {
  const latest = project.predictions[step];
  const list = usePredictions(project.projectId, step, latest !== null);
  useDidUpdate(() => void list.refetch(), [latest?.predictionId]); // started in another tab
  if (latest === null) return null;
  const all = list.data?.pages.flatMap(({ predictions }) => predictions) ?? [];
  const used = all.findIndex((one) => isUsed(project, one));
  const shown = all.flatMap((one, at) => (at < MOST_SHOWN || at === used ? { one, number: all.length - at } : []));
  return (
    <div>
      {shown.length > 1 && (
        <ol className={`plain-list ${classes.takes}`} aria-label={`Takes of the ${STEP_NAME[step].toLowerCase()}`}>
          {shown.map(({ one, number }) => (
            <TakeCell
              key={one.predictionId}
              take={one}
              name={list.hasNextPage ? "Take" : `Take ${number}`}
              isUsed={all[used] === one}
              onUse={onUse}
            />
          ))}
        </ol>
      )}
      <SmallButton
        size="compact-sm"
        aria-label={`All takes: ${STEP_NAME[step].toLowerCase()}`}
        aria-haspopup="dialog"
        onClick={onAll}
      >
        All takes
      </SmallButton>
    </div>
  );
}

type CellProps = { take: Prediction; name: string; isUsed: boolean; onUse: (take: Prediction) => void };

function TakeCell({ take, name, isUsed: isPressed, onUse }: CellProps) {
  const { status, output } = take;
  const state = status === "succeeded" ? [] : [STATUS_WORD[status]];
  const words = [...state, isRunning(take) ? "" : costWords(take)].filter((one) => one !== "").join(", ");
  return (
    <li className={screen.cell} data-status={status}>
      <span aria-hidden>
        {output === null ? (
          <Center className={screen.thumb} style={{ display: "flex" }}>
            <StatusIcon prediction={take} size={18} />
          </Center>
        ) : (
          <Thumb prediction={take} alt={name} seconds={(output.durationSeconds ?? 0) / 2} />
        )}
      </span>
      {output === null ? (
        <Text size="xs">
          <VisuallyHidden>{name}: </VisuallyHidden>
          {words}
        </Text>
      ) : (
        <UnstyledButton
          className={link.cover}
          title={isPressed ? "This take is used" : "Use this take"}
          aria-label={`${name}: ${words}`}
          aria-pressed={isPressed}
          onClick={() => !isPressed && onUse(take)}
        >
          <Text span size="xs">
            {words}
          </Text>
        </UnstyledButton>
      )}
    </li>
  );
}
