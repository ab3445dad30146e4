import { Card, Group, Text, Title } from "@mantine/core";
import { Link } from "react-router";
import type { ListedProject } from "../../../client/index.ts";
import { Time } from "../ui/Time.tsx";
import { ProjectMenu } from "./ProjectMenu.tsx";
import { ProjectPicture } from "./ProjectPicture.tsx";
import link from "../ui/cover-link.module.css";
import classes from "./projects.module.css";
import { StepMark } from "./StepMark.tsx";
import { FILM_ORDER } from "./step-words.ts";

type Props = { project: ListedProject; onChange: () => void; onDelete: () => void };

/** A project at a glance. The whole card leads to its studio. */
export function ProjectCard({ project, onChange, onDelete }: Props) {
  const { projectId, title, textPrompt, createdAt, predictions } = project;
  return (
    <Card component="article" withBorder padding="md" className={classes.card}>
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
          <ProjectMenu title={title} onChange={onChange} onDelete={onDelete} />
        </span>
      </Group>
      <Text size="sm" c="dimmed" lineClamp={2} className={classes.excerpt}>
        {textPrompt}
      </Text>
      <ul className={classes.steps} aria-label="Steps">
        {FILM_ORDER.map((step) => (
          <StepMark key={step} step={step} run={predictions?.[step] ?? null} />
        ))}
      </ul>
      <Text size="xs" c="dimmed" component="p" className={classes.when}>
        <Time iso={createdAt} />
      </Text>
    </Card>
  );
}
