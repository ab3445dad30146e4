import { Box, Group, NativeSelect, type NativeSelectProps, Text } from "@mantine/core";
import { useId } from "@mantine/hooks";
import type { Project, ProjectWithPredictions } from "../../../client/index.ts";
import { useCast } from "../queries/element-queries.ts";
import { useChangeProject } from "../queries/project-queries.ts";
import { useModels } from "../queries/use-models.ts";
import { ImageField } from "../step-settings/ImageField.tsx";
import screen from "../takes/takes.module.css";
import { errorSentence } from "../ui/errors.ts";

export function ReferenceImage({ project }: { project: ProjectWithPredictions }) {
  const { projectId, referenceImagePath: path } = project;
  const change = useChangeProject(projectId);
  const howTo = "Frames follow its look. Drop or choose a PNG, JPEG or WebP file of at most 10 MiB.";
  return (
    <Box component="section" w={220} aria-label="Reference image" className={screen.preview}>
      <ImageField
        project={project}
        label="Reference image"
        description={path === null && howTo}
        noun="reference image"
        addLabel="Choose image"
        images={path === null ? [] : [path]}
        max={1}
        error={change.error}
        onChange={([image = null]) => change.mutate({ change: { referenceImagePath: image } })}
      />
    </Box>
  );
}

/** Chooses the aspect ratio of all steps, among those that the models accept. */
export function AspectRatio({ project: { projectId, aspectRatio } }: { project: Project }) {
  const models = Object.values(useModels()).flat();
  const change = useChangeProject(projectId);
  const offered = models.flatMap(({ controls }) => controls.aspectRatio?.values ?? []).map(String);
  const ratios = new Set([aspectRatio, ...offered]);
  return (
    <SmallSelect
      label="Aspect ratio"
      w={84}
      data={[...ratios].toSorted((one, other) => widthOf(other) - widthOf(one))}
      value={change.isPending ? (change.variables.change.aspectRatio ?? aspectRatio) : aspectRatio}
      error={change.error}
      onChoose={(value) => change.mutate({ change: { aspectRatio: value } })}
    />
  );
}

function widthOf(ratio: string): number {
  const [width = 1, height = 1] = ratio.split(":").map(Number);
  return width / height;
}

/** Chooses between the film's cast and only the elements that the prompt names. Renders nothing without a cast. */
export function CastChoice({ project }: { project: Project }) {
  const { projectId, elementIds } = project;
  const { ofFilm } = useCast(project);
  const change = useChangeProject(projectId);
  if (ofFilm.length === 0) return null;
  const choices = [
    { value: "film", label: ofFilm.map(({ name }) => name).join(", ") },
    { value: "named", label: "Only @mentioned" },
  ];
  const own = { value: "own", label: `${elementIds?.length} of its own` };
  const value = elementIds === null ? "film" : elementIds.length === 0 ? "named" : "own";
  return (
    <SmallSelect
      label="Cast"
      w={140}
      data={value === "own" ? [...choices, own] : choices}
      value={value}
      error={change.error}
      onChoose={(next) => next !== "own" && change.mutate({ change: { elementIds: next === "film" ? null : [] } })}
    />
  );
}

type SmallSelectProps = Pick<NativeSelectProps, "data" | "w"> & {
  label: string;
  value: string;
  error: unknown;
  onChoose: (value: string) => void;
};

function SmallSelect({ label, error, onChoose, ...select }: SmallSelectProps) {
  const id = useId();
  return (
    <Group gap={6} wrap="nowrap">
      <Text component="label" htmlFor={id} size="sm">
        {label}
      </Text>
      <NativeSelect
        {...select}
        id={id}
        size="xs"
        error={error === null ? undefined : errorSentence(error)}
        onChange={({ currentTarget: { value } }) => onChoose(value)}
      />
    </Group>
  );
}
