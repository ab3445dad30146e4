import { Group, Input, Text, UnstyledButton } from "@mantine/core";
import type { Prediction, ProjectWithPredictions } from "../../../client/index.ts";
import { STEP_NAME } from "../takes/status-words.ts";
import { useDraft } from "../session/use-draft.ts";
import { errorSentence } from "../ui/errors.ts";
import { useAddReferences } from "../queries/reference-image.ts";
import { Frame, Thumb } from "../takes/Sources.tsx";
import classes from "../takes/takes.module.css";
import { frameOf, isUpload } from "../takes/input-words.ts";
import { projectNoun } from "../queries/project-queries.ts";
import { A_PAGE, usePredictions } from "../queries/use-predictions.ts";

type Props = {
  project: ProjectWithPredictions;
  /** The paths of the chosen images. */
  images: string[];
  max: number;
  onChange: (images: string[]) => void;
};

/** The project's newest frames and input images, to choose as references. A chosen frame is uploaded, because references are uploads. */
export function EarlierPictures({ project, images, max, onChange }: Props) {
  const newest = useNewest(project.projectId);
  /** The frames that uploaded images are copies of, by the image's path. */
  const [copies, changeCopies] = useDraft(`copies ${project.projectId}`, NO_COPIES);
  const add = useAddReferences(([path = ""], [image]) => {
    if (image && !(image instanceof Blob)) changeCopies((known) => ({ ...known, [path]: image.predictionId }));
    onChange([...images, path]);
  });
  if (newest === undefined) return null;
  const frames = newest.filter(({ step, output }) => step !== "video" && output !== null);
  const given = newest.flatMap(({ input }) => [
    ...input.referenceImagePaths,
    frameOf(input, "firstFrame") ?? "",
    frameOf(input, "lastFrame") ?? "",
  ]);
  const uploads = [...new Set(given.filter(isUpload))];

  const toggle = (path: string | undefined, frame?: Prediction) => {
    const isChosen = path !== undefined && images.includes(path);
    return {
      className: classes.choice,
      "aria-busy": add.isPending && add.variables[0] === frame,
      "aria-pressed": isChosen,
      disabled: images.length >= max && !isChosen,
      onClick: () => {
        if (isChosen) onChange(images.filter((one) => one !== path));
        else if (frame) add.mutate([frame]);
        else if (path !== undefined) onChange([...images, path]);
      },
    };
  };
  return (
    <Input.Wrapper
      label="Earlier pictures"
      labelElement="div"
      error={add.error && errorSentence(add.error)}
      role="group"
      aria-label="Earlier pictures"
    >
      {frames.length + uploads.length === 0 && (
        <Text size="xs" c="dimmed">
          No earlier pictures yet. Frames of this {projectNoun(project)}, and images they were made with, appear here.
        </Text>
      )}
      <Group gap="xs" mt={4}>
        {frames.map((frame) => (
          <UnstyledButton
            key={frame.predictionId}
            {...toggle(
              images.find((path) => copies[path] === frame.predictionId),
              frame,
            )}
          >
            <Thumb prediction={frame} alt={`${STEP_NAME[frame.step]}: ${frame.input.prompt}`} />
          </UnstyledButton>
        ))}
        {uploads.map((path, at) => (
          <UnstyledButton key={path} {...toggle(path)}>
            <Frame project={project} frame={path} alt={`Uploaded image ${at + 1}`} />
          </UnstyledButton>
        ))}
      </Group>
    </Input.Wrapper>
  );
}

const NO_COPIES: Record<string, string> = {};

/** The newest predictions of each step. Undefined until all are read. */
function useNewest(projectId: string): Prediction[] | undefined {
  const lists = [
    usePredictions(projectId, "first-frame", true),
    usePredictions(projectId, "last-frame", true),
    usePredictions(projectId, "video", true),
  ];
  return lists.every(({ data }) => data !== undefined)
    ? lists.flatMap(({ data = [] }) => data.slice(0, A_PAGE))
    : undefined;
}
