import { Group, NativeSelect, Text } from "@mantine/core";
import { useId } from "@mantine/hooks";
import type { Project } from "../../../client/index.ts";
import { useChangeProject } from "../projects/project-queries.ts";
import { errorSentence } from "../ui/errors.ts";
import { useModels } from "./use-models.ts";

/** The aspect ratio of all steps of a project: a choice of those that its models take. */
export function AspectRatio({ project: { projectId, aspectRatio } }: { project: Project }) {
  const id = useId();
  const models = useModels();
  const change = useChangeProject(projectId);
  const offered = Object.values(models).flatMap((ofStep) =>
    ofStep.flatMap(({ controls }) => controls.aspectRatio?.values ?? []),
  );
  const ratios = [...new Set([aspectRatio, ...offered.map(String)])].toSorted(
    (one, other) => widthOf(other) - widthOf(one),
  );
  return (
    <Group gap={6} wrap="nowrap">
      <Text component="label" htmlFor={id} size="sm">
        Aspect ratio
      </Text>
      <NativeSelect
        id={id}
        size="xs"
        w={84}
        data={ratios}
        value={change.isPending ? (change.variables.change.aspectRatio ?? aspectRatio) : aspectRatio}
        error={change.error === null ? undefined : errorSentence(change.error)}
        onChange={({ currentTarget: { value } }) => change.mutate({ change: { aspectRatio: value } })}
      />
    </Group>
  );
}

/** Of a height of 1. */
function widthOf(ratio: string): number {
  const [width = 1, height = 1] = ratio.split(":").map(Number);
  return width / height;
}
