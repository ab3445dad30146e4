import { useParams } from "react-router";
import { useProject } from "../projects/project-queries.ts";
import { isGone } from "../ui/errors.ts";
import { Missing, PageHead, Unread } from "../ui/page-parts.tsx";
import { Studio } from "./Studio.tsx";

export function Component() {
  const { projectId = "" } = useParams();
  const project = useProject(projectId);
  if (isGone(project.error)) {
    return <Missing title="Project not found" to="/projects" label="Go to projects" />;
  }
  if (project.data !== undefined) return <Studio key={projectId} project={project.data} />;
  return (
    <>
      <PageHead title="Studio" />
      <Unread query={project} what="the project" heights={[185, 590]} />
    </>
  );
}
