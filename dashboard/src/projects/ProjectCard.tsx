import { Card, Group, Text, Title } from "@mantine/core";
import { IconMovie } from "@tabler/icons-react";
import { Link } from "react-router";
import type { ListedProject, Prediction } from "../../../client/index.ts";
import link from "../ui/cover-link.module.css";
import { Time } from "../ui/Time.tsx";
import { ProjectMenu } from "./ProjectMenu.tsx";
import classes from "./projects.module.css";
import { useRenewOutput } from "./prediction-cache.ts";
import { StepMark } from "./status.tsx";
import { FILM_ORDER } from "./status-words.ts";

/** The whole card links to the studio. */
export function ProjectCard({ project }: { project: ListedProject }) {
  const { projectId, title, textPrompt, createdAt, predictions, takes } = project;
  return (
    <Card component="article" withBorder padding="md" className={link.card}>
      <Card.Section>
        <ProjectPicture project={project} />
      </Card.Section>
      <Group justify="space-between" wrap="nowrap" mt="sm" gap="xs">
        <Title order={2} size="h5" lineClamp={1} miw={0}>
          <Link to={`/projects/${projectId}`} className={link.cover}>
            {title}
          </Link>
        </Title>
        <span className={link.above}>
          <ProjectMenu project={project} onDeleted={() => document.querySelector("main")?.focus()} />
        </span>
      </Group>
      <Text size="sm" c="dimmed" lineClamp={2} className={classes.excerpt}>
        {textPrompt}
      </Text>
      <ul className={classes.steps} aria-label="Steps">
        {FILM_ORDER.map((step) => (
          <StepMark key={step} step={step} latest={predictions?.[step] ?? null} take={takes?.[step] ?? null} />
        ))}
      </ul>
      <Text size="xs" c="dimmed" component="p" className={classes.when}>
        <Time iso={createdAt} />
      </Text>
    </Card>
  );
}

/** The project's picture, as the studio shows it: its first frame, last frame, the video's first picture, or an icon. */
function ProjectPicture({ project }: { project: ListedProject }) {
  const { takes } = project;
  const prediction = [takes?.["first-frame"], takes?.["last-frame"], takes?.video].find((one) => one?.output != null);
  return (
    <div className={classes.picture}>
      {prediction?.output == null ? (
        <NoPicture />
      ) : (
        <Picture key={prediction.output.path} prediction={prediction} address={prediction.output.url} />
      )}
    </div>
  );
}

const NoPicture = () => (
  <div className={classes.noPicture} aria-hidden>
    <IconMovie size={40} stroke={1.2} />
  </div>
);

/** Decorative: the title beside it is the text. */
function Picture({ prediction, address }: { prediction: Prediction; address: string }) {
  const { round, isBroken, onFailed, onLoaded } = useRenewOutput(prediction);
  if (isBroken) return <NoPicture />;
  const media = { className: classes.media, onError: onFailed };
  if (prediction.step !== "video")
    return <img key={round} src={address} alt="" loading="lazy" onLoad={onLoaded} {...media} />;
  const still = { preload: "metadata", muted: true, tabIndex: -1, "aria-hidden": true } as const;
  return <video key={round} src={`${address}#t=0.1`} onLoadedData={onLoaded} {...still} {...media} />;
}
