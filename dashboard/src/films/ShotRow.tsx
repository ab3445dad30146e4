import { ActionIcon, Anchor, Card, Group, Stack, Text, UnstyledButton } from "@mantine/core";
import { type ComponentProps, type CSSProperties, Fragment } from "react";
import { Link } from "react-router";
import type { Model, Shot } from "../../../client/index.ts";
import { ProjectMenu } from "../projects/ProjectMenu.tsx";
import { isRunning } from "../queries/project-queries.ts";
import { useModels } from "../queries/use-models.ts";
import { usePrediction } from "../queries/use-predictions.ts";
import { costSentence } from "../takes/cost-words.ts";
import screen from "../takes/takes.module.css";
import { Frame, Outdated, Thumb } from "../takes/Sources.tsx";
import { StepMark } from "../takes/status.tsx";
import { PLAYING_ORDER } from "../takes/status-words.ts";
import { givenOf, modelOf, settingWords } from "../step-settings/step-options.ts";
import { frameOf, isUpload } from "../takes/input-words.ts";
import link from "../ui/cover-link.module.css";
import { IconArrowDown, IconArrowRight, IconArrowUp, IconGripVertical, IconPlayerPlay } from "../ui/icons.tsx";

type ShotRowProps = {
  shot: Shot;
  before: Shot | undefined;
  at: number;
  count: number;
  onMove: (from: number, to: number) => void;
  onPlay: (projectId: string) => void;
  handle: ComponentProps<"span">;
  style: CSSProperties;
};

/** The frame or image on which the video of a shot would start. */
function beginningOf({ plan: { video = {} }, takes }: Shot, before: Shot | undefined): string | null {
  if (video.continuesPreviousShot && before) return before.takes.video?.endImagePath ?? null;
  if (video.firstFrameImagePath != null) return video.firstFrameImagePath;
  if (video.firstFramePredictionId !== undefined) return video.firstFramePredictionId;
  return takes["first-frame"]?.predictionId ?? null;
}

/** How the video of a shot would be made. `before`: the number of the previous shot. */
function planWords(shot: Shot, before: number | undefined, models: Model[] | undefined): string[] {
  const { video = {} } = shot.plan;
  const model = modelOf(models, video);
  const continues = video.continuesPreviousShot && before !== undefined;
  const beginning = continues
    ? `starts where shot ${before} ends`
    : video.firstFramePredictionId === null && "no first frame";
  return [
    ...(beginning ? [beginning] : []),
    ...(model ? settingWords(model, video, givenOf(shot, "video", video)) : []),
  ];
}

export function ShotRow({ shot, before, at, count, onMove, onPlay, handle, style }: ShotRowProps) {
  const { projectId, title, predictions, takes } = shot;
  const { video } = takes;
  const known = { projectId, takes, ...(before && { predictions: before.takes }) };
  // Of a video, those that it was made from; of a shot without one, those that it would be made from.
  const first = video === null ? beginningOf(shot, before) : frameOf(video.input, "firstFrame");
  const last = endOf(shot);
  const start = usePrediction(known, video === null || first == null || isUpload(first) ? null : first);
  const isChained = start != null && start.projectId !== projectId;
  const models = useModels();
  const listed = PLAYING_ORDER.filter((step) => predictions[step]?.error || isRunning(predictions[step]));
  // Not disabled: a button would lose the keyboard focus.
  const mover = (Mark: typeof IconArrowUp, where: string, to: number) => (
    <ActionIcon
      variant="default"
      data-disabled={to < 0 || to >= count}
      aria-disabled={to < 0 || to >= count}
      aria-label={`Move ${title} ${where}`}
      onClick={() => onMove(at, to)}
    >
      <Mark size={16} />
    </ActionIcon>
  );
  return (
    <Card component="li" withBorder padding="sm" style={{ overflow: "visible", ...style }}>
      <Group justify="space-between" wrap="nowrap" mb="xs">
        <Text lineClamp={1}>
          {at + 1}.{" "}
          <Anchor component={Link} to={`/projects/${projectId}`}>
            {title}
          </Anchor>
        </Text>
        <Group gap={4} wrap="nowrap">
          <span title="Drag to move" {...handle}>
            <IconGripVertical size={18} style={{ display: "block" }} />
          </span>
          {mover(IconArrowUp, "up", at - 1)}
          {mover(IconArrowDown, "down", at + 1)}
          <ProjectMenu project={shot} noun="shot" />
        </Group>
      </Group>
      <Group gap={8} pos="relative" className={screen.large}>
        {first != null && <Frame key={first} project={known} frame={first} alt={`First frame of ${title}`} />}
        {first == null && video !== null && <Thumb prediction={video} alt={`Video of ${title}`} />}
        {last !== null && (
          <>
            <IconArrowRight size={16} />
            <Frame key={last} project={known} frame={last} alt={`Last frame of ${title}`} />
          </>
        )}
        {video?.output ? (
          <UnstyledButton className={link.cover} aria-label={`Play from ${title}`} onClick={() => onPlay(projectId)}>
            <IconPlayerPlay size={18} style={{ display: "block" }} />
          </UnstyledButton>
        ) : (
          !listed.includes("video") && (
            <Text size="sm" c="dimmed">
              {["No video yet", ...planWords(shot, before && at, models.video)].join(" · ")}
            </Text>
          )
        )}
      </Group>
      {listed.length > 0 && (
        <Stack component="ul" gap={4} mt={6} className="plain-list" aria-label={`Steps of ${title}`}>
          {listed.map((step) => (
            <Fragment key={step}>
              <StepMark step={step} latest={predictions[step]} take={takes[step]} />
              {predictions[step]?.error && (
                <Text component="li" size="xs" lineClamp={3} title={predictions[step].error.message}>
                  {predictions[step].error.message} {costSentence(predictions[step])}
                </Text>
              )}
            </Fragment>
          ))}
        </Stack>
      )}
      {video !== null && <Outdated project={known} prediction={video} />}
      {isChained && before !== undefined && endOf(before) !== first && (
        <Text size="sm" mt={6}>
          It does not start where shot {at} ends. Generate its video again to join them.
        </Text>
      )}
    </Card>
  );
}

/** The frame that the video of a shot ends on, or would end on: a path or an id. */
const endOf = ({ takes: { video, "last-frame": last } }: Shot): string | null =>
  video === null ? (last?.predictionId ?? null) : frameOf(video.input, "lastFrame");
