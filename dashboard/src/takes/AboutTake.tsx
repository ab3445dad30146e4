import { Group, Stack, Text, VisuallyHidden } from "@mantine/core";
import type { ReactNode } from "react";
import { hasEnded, type Prediction } from "../../../client/index.ts";
import { useModelLabel } from "../queries/use-models.ts";
import type { Known } from "../queries/use-predictions.ts";
import { SmallButton } from "../ui/Buttons.tsx";
import { IconCheck, IconRestore } from "../ui/Icons.tsx";
import { Facts } from "../ui/PageParts.tsx";
import { type Fact, factsOf } from "./input-words.ts";
import { Frame, Outdated } from "./Sources.tsx";
import { PredictionState } from "./Status.tsx";
import { nounOf, USE } from "./status-words.ts";
import { TakeMenu } from "./TakeMenu.tsx";
import { isUsed, type TakesProps } from "./use-takes.ts";

type Props = TakesProps & {
  prediction: Prediction;
  /** The prediction to compare with: inputs that differ are marked. */
  other?: Prediction | undefined;
  /** Texts with more lines are cut. */
  lines?: number | undefined;
  children?: ReactNode;
};

export function AboutTake({ project, prediction, other, lines, selection, onReuse, children }: Props) {
  const { step, output, error } = prediction;
  const isChosen = isUsed(project, prediction);
  const labelOf = useModelLabel();
  const others = other && new Map(factsOf(other, labelOf).map(({ name, words }) => [name, words]));
  const facts = factsOf(prediction, labelOf).map((fact) => {
    const isDifferent = others !== undefined && others.get(fact.name) !== fact.words;
    return [fact.name, <FactValue key={fact.name} {...{ project, fact, step, isDifferent, lines }} />];
  });
  return (
    <Stack gap={4} miw={0}>
      <PredictionState prediction={prediction} isCanceling={false} />
      {error !== null && <Text size="xs">{error.message}</Text>}
      <Facts facts={Object.fromEntries(facts)} />
      <Outdated project={project} prediction={prediction} />
      <Group gap="xs" mt={4}>
        {output !== null && (
          <SmallButton
            size="compact-sm"
            variant={isChosen ? "light" : "default"}
            aria-pressed={isChosen}
            Icon={isChosen ? IconCheck : undefined}
            onClick={() => selection.use(prediction)}
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

type FactValueProps = Pick<Props, "lines"> &
  Pick<Prediction, "step"> & { project: Known; fact: Fact; isDifferent: boolean };

function FactValue({ project, fact: { name, words, frames }, step, isDifferent, lines }: FactValueProps) {
  const altOf = (at: number) => (name === "References" ? `Reference ${at + 1}` : `${name} of this ${nounOf(step)}`);
  const pictures = frames?.map((frame, at) => <Frame key={frame} project={project} frame={frame} alt={altOf(at)} />);
  const cut = lines === undefined || pictures !== undefined ? {} : { lineClamp: lines, title: words };
  return (
    <Text size="sm" component={isDifferent ? "mark" : "div"} {...cut}>
      {isDifferent && <VisuallyHidden>Different: </VisuallyHidden>}
      {pictures === undefined ? words : <Group gap="xs">{pictures}</Group>}
    </Text>
  );
}
