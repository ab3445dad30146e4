import { Alert, Stack, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import type { FormEventHandler, ReactNode } from "react";
import { BusyButton } from "../ui/BusyButton.tsx";
import type { AuthProblem } from "./use-auth-form.ts";

type Props = {
  title: string;
  submit: string;
  problem: AuthProblem | null;
  isBusy: boolean;
  onSubmit: FormEventHandler<HTMLFormElement>;
  children: ReactNode;
  /** Where else one can go from here. */
  links?: ReactNode;
};

/** The one shape of sign-in, sign-up and password pages. */
export function SessionForm({ title, submit, problem, isBusy, onSubmit, children, links }: Props) {
  useDocumentTitle(`${title} · Keyframe`);
  return (
    <form onSubmit={onSubmit} noValidate>
      <Stack>
        <Title order={1} size="h3">
          {title}
        </Title>
        {children}
        {problem !== null && (
          <Alert key={problem.id} color="red" role="alert">
            {problem.sentence}
          </Alert>
        )}
        <BusyButton type="submit" isBusy={isBusy} fullWidth>
          {submit}
        </BusyButton>
        {links}
      </Stack>
    </form>
  );
}
