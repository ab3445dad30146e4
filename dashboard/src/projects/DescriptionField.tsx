import { Textarea } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { Counted } from "./Counted.tsx";
import type { ProjectTexts } from "./use-change-project.ts";

export function DescriptionField({ form }: { form: UseFormReturnType<ProjectTexts> }) {
  return (
    <Textarea
      label="Description"
      description={
        <Counted
          text="Your notes, such as how the look should be kept. The model does not see them."
          value={form.values.description}
        />
      }
      autosize
      minRows={2}
      maxRows={8}
      {...form.getInputProps("description")}
    />
  );
}
