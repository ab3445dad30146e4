import { useState } from "react";
import type { ListedProject } from "../../../client/index.ts";
import { ChangeProject } from "./ChangeProject.tsx";
import { DeleteProject } from "./DeleteProject.tsx";
import { ProjectCard } from "./ProjectCard.tsx";
import classes from "./projects.module.css";

type Open = { window: "change" | "delete"; project: ListedProject };

/** The cards, and the windows that they open. */
export function ProjectGrid({ projects }: { projects: ListedProject[] }) {
  // What it was about stays while the window fades out.
  const [{ window, project }, setOpen] = useState<Partial<Open>>({});
  const [isOpen, setIsOpen] = useState(false);
  const open = (next: Open) => {
    setOpen(next);
    setIsOpen(true);
  };
  const close = () => setIsOpen(false);
  const deleted = () => {
    close();
    document.querySelector("main")?.focus(); // the card that had the focus is gone
  };
  return (
    <>
      <div className={classes.grid}>
        {projects.map((one) => (
          <ProjectCard
            key={one.projectId}
            project={one}
            onChange={() => open({ window: "change", project: one })}
            onDelete={() => open({ window: "delete", project: one })}
          />
        ))}
      </div>
      {project !== undefined && (
        <>
          <ChangeProject
            key={`change ${project.projectId}`}
            project={project}
            isOpen={isOpen && window === "change"}
            onClose={close}
          />
          <DeleteProject
            key={`delete ${project.projectId}`}
            project={project}
            isOpen={isOpen && window === "delete"}
            onClose={close}
            onDeleted={deleted}
          />
        </>
      )}
    </>
  );
}
