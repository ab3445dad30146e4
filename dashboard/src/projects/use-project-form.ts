import { schemaResolver, useForm } from "@mantine/form";
import { createProjectBody } from "../../../shared/contract/projects.ts";
import type { ProjectTexts } from "./use-change-project.ts";

/** A form for the texts of a project, checked as one types by the service's own schema. */
export const useProjectForm = (initialValues: ProjectTexts) =>
  useForm<ProjectTexts>({
    initialValues,
    validate: schemaResolver(createProjectBody, { sync: true }),
    validateInputOnChange: true,
  });
