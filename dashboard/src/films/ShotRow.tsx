import { ActionIcon, Anchor, Card, Group, Stack, Text, UnstyledButton } from "@mantine/core";
import { useDrag } from "@mantine/hooks";
import { Fragment } from "react";
import { Link } from "react-router";
import type { Shot } from "../../../client/index.ts";
import { ProjectMenu } from "../projects/ProjectMenu.tsx";
import { isRunning } from "../queries/project-queries.ts";
import { useModels } from "../queries/use-models.ts";
import { type Known, usePrediction } from "../queries/use-predictions.ts";
import { setupOf, setupWords, startOf } from "../step-settings/step-setup.ts";
import { costSentence } from "../takes/cost-words.ts";
import { frameOf, isUpload } from "../takes/input-words.ts";
import { Frame, Outdated, Thumb } from "../takes/Sources.tsx";
import { StepMark } from "../takes/Status.tsx";
import { PLAYING_ORDER } from "../takes/status-words.ts";
import screen from "../takes/takes.module.css";
import link from "../ui/cover-link.module.css";
import {
  type Icon,
  IconArrowDown,
  IconArrowRight,
  IconArrowUp,
  IconGripVertical,
  IconPlayerPlay,
} from "../ui/Icons.tsx";
import type { ShotOrder } from "./use-shot-order.ts";

type Place = { shot: Shot; at: number; shots: Shot[] };
type Props = Place & { order: ShotOrder; onPlay: (projectId: string) => void };

export function ShotRow({ order, onPlay, ...place }: Props) {
  const { shot, at, shots } = place;
  const { projectId, title, predictions, takes } = shot;
  const { video } = takes;
  const known = { projectId, takes, predictions: shots[at - 1]?.takes };
  const listed = PLAYING_ORDER.filter((step) => predictions[step]?.error || isRunning(predictions[step]));
  const { first, last, words } = useMadeFrom(place);
  return (
    <Card component="li" withBorder padding="sm" style={{ overflow: "visible", ...order.styleOf(at) }}>
      <ShotHead {...place} order={order} />
      <Group gap={8} pos="relative" className={screen.large}>
        {first !== null && <Frame key={first} project={known} frame={first} alt={`First frame of ${title}`} />}
        {first === null && video !== null && <Thumb prediction={video} alt={`Video of ${title}`} />}
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
              {["No video yet", ...words].join(" · ")}
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
      <BrokenJoin {...place} known={known} first={first} />
    </Card>
  );
}

function ShotHead({ shot, at, shots, order }: Place & { order: ShotOrder }) {
  const { projectId, title } = shot;
  const handle = useDrag((state) => order.onDrag(at, state));
  // A disabled button would lose the keyboard focus.
  const mover = (Mark: Icon, where: string, to: number) => (
    <ActionIcon
      variant="default"
      data-disabled={to < 0 || to >= shots.length}
      aria-disabled={to < 0 || to >= shots.length}
      aria-label={`Move ${title} ${where}`}
      onClick={() => order.move(at, to)}
    >
      <Mark size={16} />
    </ActionIcon>
  );
  return (
    <Group justify="space-between" wrap="nowrap" mb="xs">
      <Text lineClamp={1}>
        {at + 1}.{" "}
        <Anchor component={Link} to={`/projects/${projectId}`}>
          {title}
        </Anchor>
      </Text>
      <Group gap={4} wrap="nowrap">
        <span ref={handle.ref} title="Drag to move" style={{ touchAction: "none", cursor: "grab" }}>
          <IconGripVertical size={18} style={{ display: "block" }} />
        </span>
        {mover(IconArrowUp, "up", at - 1)}
        {mover(IconArrowDown, "down", at + 1)}
        <ProjectMenu project={shot} noun="shot" />
      </Group>
    </Group>
  );
}

/** The frames that a shot's video was made from. Without a video: the frames of the next one, and how it would be made. */
function useMadeFrom({ shot, at, shots }: Place) {
  const { plan, takes } = shot;
  const models = useModels();
  const last = endOf(shot);
  if (takes.video !== null) return { first: frameOf(takes.video.input, "firstFrame"), last, words: [] };
  const previous = shots[at - 1];
  const setup = setupOf(models.video, "video", plan.video ?? {}, shot);
  const isContinued = setup.options.continuesPreviousShot && previous !== undefined;
  const start = isContinued ? `starts where shot ${at} ends` : setup.usesFirstFrame ? "" : "no first frame";
  const words = [start, ...setupWords(setup)].filter((one) => one !== "");
  return { first: startOf(setup, takes, previous), last, words };
}

/** The frame that a shot's video ends on, or would end on: a path or an id. */
const endOf = ({ takes: { video, "last-frame": last } }: Shot): string | null =>
  video === null ? (last?.predictionId ?? null) : frameOf(video.input, "lastFrame");

/** Says that a video starts on a frame of another shot, but not on the end of the previous one. */
function BrokenJoin({ shot, at, shots, known, first }: Place & { known: Known; first: string | null }) {
  const start = usePrediction(known, shot.takes.video === null || first === null || isUpload(first) ? null : first);
  const previous = shots[at - 1];
  const isOfOther = start != null && start.projectId !== shot.projectId;
  if (!isOfOther || previous === undefined || endOf(previous) === first) return null;
  return (
    <Text size="sm" mt={6}>
      The video does not start where shot {at} ends. Generate it again to join them.
    </Text>
  );
}
