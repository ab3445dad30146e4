import { Group, Stack, Text, VisuallyHidden } from "@mantine/core";
import type { ReactNode } from "react";
import { hasEnded, type Prediction, type ProjectWithPredictions } from "../../../client/index.ts";
import { selectionOf, type useChangeProject } from "../queries/project-queries.ts";
import { PredictionState } from "./status.tsx";
import { nounOf, USE } from "./status-words.ts";
import { SmallButton } from "../ui/buttons.tsx";
import { IconCheck, IconRestore } from "../ui/icons.tsx";
import { Facts } from "../ui/page-parts.tsx";
import { Time } from "../ui/Time.tsx";
import { Frame, Outdated } from "./Sources.tsx";
import { type Fact, factsOf } from "./input-words.ts";
import { TakeMenu } from "./TakeMenu.tsx";
import { useModelLabel } from "../queries/use-models.ts";

/** Changes the open view in the address. */
export type Look = (at: Partial<Record<"step" | "takes" | "take", string | null>>) => void;

export type TakesProps = {
  project: ProjectWithPredictions;
  select: ReturnType<typeof useChangeProject>;
  onReuse: (prediction: Prediction) => void;
};

type Props = TakesProps & {
  prediction: Prediction;
  /** The one that it is compared with: the inputs that differ are marked. */
  other?: Prediction | undefined;
  /** Longer texts are cut. */
  lines?: number | undefined;
  children?: ReactNode;
};

/** Whether it stands for its step. */
export const isUsed = ({ selected, takes }: ProjectWithPredictions, { step, predictionId }: Prediction): boolean =>
  predictionId === (selected[step] ?? takes[step]?.predictionId);

/** What a prediction was made with and what became of it. A take can be selected, hidden and deleted, and its inputs used again. */
export function AboutTake({ project, prediction, other, lines, select, onReuse, children }: Props) {
  const { step, output, error, createdAt } = prediction;
  const isChosen = isUsed(project, prediction);
  const choose = () => {
    if (!isChosen) select.mutate({ change: { selected: selectionOf(project, prediction) } });
  };
  const labelOf = useModelLabel();
  const others = other && factsOf(other, labelOf);
  const facts: Record<string, ReactNode> = {};
  for (const fact of factsOf(prediction, labelOf)) {
    const isDifferent = others !== undefined && others.find(({ name }) => name === fact.name)?.words !== fact.words;
    facts[fact.name] = <FactValue {...{ project, fact, isDifferent, lines }} noun={nounOf(step)} />;
  }
  return (
    <Stack gap={4} miw={0}>
      <PredictionState prediction={prediction} isCanceling={false} />
      <Text size="xs" c="dimmed">
        <Time iso={createdAt} />
      </Text>
      {error !== null && <Text size="xs">{error.message}</Text>}
      <Facts of={facts} />
      <Outdated project={project} prediction={prediction} />
      <Group gap="xs" mt={4}>
        {output !== null && (
          <SmallButton
            size="compact-sm"
            variant={isChosen ? "light" : "default"}
            aria-pressed={isChosen}
            {...(isChosen && { Icon: IconCheck })}
            onClick={choose}
          >
            {(isChosen ? "Used " : "Use ") + USE[step]}
          </SmallButton>
        )}
        <SmallButton size="compact-sm" Icon={IconRestore} onClick={() => onReuse(prediction)}>
          Use these inputs
        </SmallButton>
        {children}
        {hasEnded(prediction) && <TakeMenu prediction={prediction} title={project.title} />}
      </Group>
    </Stack>
  );
}

type FactValueProps = Pick<Props, "project" | "lines"> & { fact: Fact; isDifferent: boolean; noun: string };

function FactValue({ project, fact: { name, words, frames }, isDifferent, lines, noun }: FactValueProps) {
  const pictures = frames?.map((frame, at) => {
    const alt = name === "References" ? `Reference ${at + 1}` : `${name} of this ${noun}`;
    return <Frame key={frame} project={project} frame={frame} alt={alt} />;
  });
  const value = pictures === undefined ? words : <Group gap="xs">{pictures}</Group>;
  return (
    <Text
      size="sm"
      component={isDifferent ? "mark" : "div"}
      {...(isDifferent && { display: "block" })}
      {...(lines && pictures === undefined && { lineClamp: lines, title: words })}
    >
      {isDifferent && <VisuallyHidden>Different: </VisuallyHidden>}
      {value}
    </Text>
  );
}
