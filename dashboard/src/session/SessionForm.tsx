import {
  Alert,
  Anchor,
  PasswordInput,
  type PasswordInputProps,
  Stack,
  TextInput,
  type TextInputProps,
  Title,
} from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import type { FormEventHandler, ReactNode } from "react";
import { Link } from "react-router";
import { BusyButton } from "../ui/Buttons.tsx";
import type { AuthProblem, useAuthForm } from "./use-auth-form.ts";

type Props = {
  title: string;
  submit: string;
  problem: AuthProblem | null;
  isBusy: boolean;
  onSubmit: FormEventHandler<HTMLFormElement>;
  children: ReactNode;
  links?: ReactNode;
};

export function SessionForm({ title, submit, problem, isBusy, onSubmit, children, links }: Props) {
  useDocumentTitle(`${title} · Keyframe`);
  return (
    <form onSubmit={onSubmit} noValidate>
      <Stack>
        <Title order={1} size="h3">
          {title}
        </Title>
        {children}
        <AuthAlert problem={problem} />
        <BusyButton type="submit" isBusy={isBusy} fullWidth>
          {submit}
        </BusyButton>
        {links}
      </Stack>
    </form>
  );
}

export const AuthAlert = ({ problem }: { problem: AuthProblem | null }) =>
  problem !== null && (
    <Alert key={problem.id} color="red" role="alert">
      {problem.sentence}
    </Alert>
  );

export const FormLink = ({ to, children }: { to: string; children: string }) => (
  <Anchor component={Link} to={to} size="sm">
    {children}
  </Anchor>
);

type Field = ReturnType<typeof useAuthForm<"email" | "password">>["field"];

export const CredentialFields = ({ field, isNew }: { field: Field; isNew: boolean }) => (
  <>
    <EmailField {...field("email")} />
    <PasswordField label="Password" isNew={isNew} {...field("password")} />
  </>
);

/** Password managers look for "username", even if it is an email address. */
export const EmailField = (props: TextInputProps) => (
  <TextInput
    label="Email"
    type="email"
    autoComplete="username"
    autoCapitalize="none"
    spellCheck={false}
    required
    withAsterisk={false}
    {...props}
  />
);

/** The autocomplete value tells password managers to fill in or to generate. */
export const PasswordField = ({ isNew, ...props }: PasswordInputProps & { label: string; isNew: boolean }) => (
  <PasswordInput
    autoComplete={isNew ? "new-password" : "current-password"}
    aria-invalid={Boolean(props.error)} // the library sets this on every other field
    visibilityToggleFocusable
    visibilityToggleButtonProps={{ "aria-label": "Show password" }}
    required
    withAsterisk={false}
    {...props}
  />
);
