import { Anchor, Card, Group, Stack, Text, Title } from "@mantine/core";
import { Link } from "react-router";
import type { Film, ListedProject } from "../../../client/index.ts";
import link from "../ui/cover-link.module.css";
import { Time } from "../ui/Time.tsx";
import { IconMovie } from "../ui/Icons.tsx";
import { ProjectMenu } from "./ProjectMenu.tsx";
import classes from "./projects.module.css";
import { StepMark } from "../takes/Status.tsx";
import { PLAYING_ORDER } from "../takes/status-words.ts";
import { TakePicture } from "../takes/TakePicture.tsx";
import screen from "../takes/takes.module.css";

/** The whole card links to the project. `film`: the project's film. */
export function ProjectCard({ project, film }: { project: ListedProject; film: Film | undefined }) {
  const { projectId, title, textPrompt, createdAt, predictions, takes } = project;
  return (
    <Card component="article" withBorder padding="md" className={link.card}>
      <Card.Section>
        <ProjectPicture {...project} />
      </Card.Section>
      <Group justify="space-between" wrap="nowrap" mt="sm" gap="xs">
        <Title order={2} size="h5" lineClamp={1} miw={0}>
          <Link to={`/projects/${projectId}`} className={link.cover}>
            {title}
          </Link>
        </Title>
        <span className={link.above}>
          <ProjectMenu project={project} noun="project" />
        </span>
      </Group>
      <Text size="sm" c="dimmed" lineClamp={2} className={classes.excerpt}>
        {textPrompt}
      </Text>
      <Stack component="ul" gap={4} my="sm" className="plain-list" aria-label="Steps">
        {PLAYING_ORDER.map((step) => (
          <StepMark
            key={step}
            step={step}
            latest={predictions?.[step] ?? null}
            take={takes?.[step] ?? null}
            none={step === "first-frame" ? firstFrameWords(project, film) : "Not yet"}
          />
        ))}
      </Stack>
      <Text size="xs" c="dimmed" component="div" mt="auto">
        {film && (
          <Text inherit truncate>
            Film:{" "}
            <Anchor component={Link} to={`/films/${film.filmId}`} inherit className={link.above}>
              {film.title}
            </Anchor>
          </Text>
        )}
        <Time iso={createdAt} />
      </Text>
    </Card>
  );
}

/** Where a project without a first frame of its own gets one, by its shown video or its plan. */
function firstFrameWords({ projectId, plan, takes }: ListedProject, film: Film | undefined): string {
  const { continuesPreviousShot, firstFramePredictionId, firstFrameImagePath } =
    takes?.video?.input ?? plan.video ?? {};
  const isFirstShot = !takes?.video && (film === undefined || film.projectIds[0] === projectId);
  if (continuesPreviousShot && !isFirstShot) return "From the previous shot";
  if (firstFramePredictionId) return "From another shot";
  return firstFrameImagePath ? "An uploaded image" : "Not yet";
}

/** The project's picture: its first frame, last frame, the first picture of its video, or an icon. */
function ProjectPicture({ takes }: ListedProject) {
  const prediction = [takes?.["first-frame"], takes?.["last-frame"], takes?.video].find((one) => one?.output != null);
  const none = (
    <div className={screen.message}>
      <IconMovie size={40} stroke={1.2} />
    </div>
  );
  // The picture is decorative: the title beside it is the text.
  return (
    <div className={screen.screen} style={{ borderRadius: 0 }} aria-hidden>
      {prediction == null ? (
        none
      ) : (
        <TakePicture
          key={prediction.output?.path}
          prediction={prediction}
          alt=""
          className={classes.picture}
          broken={() => none}
        />
      )}
    </div>
  );
}
