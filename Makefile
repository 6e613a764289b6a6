# Millrace: from the vanilla tarball to packages.  `make help` lists targets and variables.
# Make holds the order of the steps and nothing else; each step is a script.
# A user's value reaches a recipe through the environment, where make puts each variable of
# its command line: "$$NAME" is a word to the shell, $(NAME) would be part of the script.

TREE ?= $(file < trees/default)
export TREE VERSION SHA256 TARBALL PROFILE UPSTREAM
ifdef PATCHES
export PATCHES
endif
# all trees, unless one was asked for
NAMED = $(if $(filter file,$(origin TREE)),,"$$TREE")
# four on any machine: most tests wait, for servers and disks; ORDER in tests/conftest.py
PYTEST = /usr/bin/python3 -m pytest -q --numprocesses 4 --dist loadgroup
PINS = $(wildcard trees/*/pin.conf)
LOCKED = @build/lib/locked
PACKAGES = $(LOCKED) build/road source-deb deb source-rpm rpm tarball checksums
RELEASE = scripts/release --key "$$KEY" --base "$$BASE" $(if $(DIST),--debian "$$DIST") "$$TREE"

# other packages would be made, and not tested
ifneq ($(and $(filter check,$(MAKECMDGOALS)),$(VERSION)$(PROFILE)$(filter-out all,$(PATCHES))),)
$(error the tests are of the whole series: make check, without PATCHES=, VERSION= and PROFILE=)
endif
ifneq ($(filter-out 1 missing mutations,$(TESTS)),)
$(error TESTS=$(TESTS): it is 1, missing or mutations)
endif

.NOTPARALLEL:
.DEFAULT_GOAL := packages
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' Makefile)

# Every step is asked each time; one that is done already says nothing.

##: Packages
packages: setup         ## the whole road for one tree (the default)
	$(PACKAGES)
deb: setup              ## a part of it; so are rpm, tarball, and source: .dsc and .src.rpm
	$(LOCKED) build/road source-deb deb checksums
rpm: setup
	$(LOCKED) build/road source-rpm rpm checksums
tarball: setup
	$(LOCKED) build/road tarball checksums
source: setup
	$(LOCKED) build/road source-deb source-rpm checksums
release: setup setup-release ## publish a revision, with its documents and tag: KEY= BASE=
	@$(RELEASE) --check
	$(PACKAGES)
	@$(RELEASE)
repo: setup-repo        ## signed repositories, and the site: KEY= BASE=; promote: to stable
	@scripts/repo --key "$$KEY" --base "$$BASE" $(if $(DIST),--debian "$$DIST") $(NAMED)
promote: setup-repo
	@scripts/repo --promote "$$REVISION" --key "$$KEY" --base "$$BASE" "$$TREE"

##: Patches
patched: setup          ## the patched source, with quilt's state, into work/
	$(LOCKED) build/road
refresh:                ## take edits in the patched source back into its top patch
	$(LOCKED) scripts/refresh
new-patch:              ## begin a patch: NAME=; import-patch: take in FILE=
	@scripts/new-patch "$$NAME"
import-patch: setup
	@scripts/import-patch "$$FILE" $(if $(NAME),"$$NAME")
export-patch:           ## write a patch, or several as a quilt series, for another build: NAME=
	@set -f; scripts/export-patch $$NAME
rebase: setup           ## carry the series to another release: VERSION=; CHECK=1 only reports
	@VERSION= SHA256= build/lib/locked scripts/rebase $(if $(CHECK),--check) "$$VERSION"
upstream-watch:         ## look for releases that are newer than the pinned ones
	@scripts/upstream-watch

##: Proofs
check: setup-tests lint packages ## run the tests; check-fast: those that need no compiled server
	@$(PYTEST) tests
check-fast: setup setup-tests
	@$(PYTEST) tests/fast
lint: setup-tests       ## check scripts, patch headers, differences between trees, tables
	@scripts/lint
prove: setup-tests      ## apply and compile every subset, of all trees or TREE=; TESTS=1: test it
	@scripts/prove $(if $(TESTS),--$(or $(filter missing mutations,$(TESTS)),tests)) $(NAMED)
hostile: setup-tests    ## try the series and vanilla in hostile surroundings, into test-results/
	@tests/hostile/run millrace vanilla --tree "$$TREE" \
	    --result "test-results/hostile/$$TREE.json"
reproduce: packages     ## build the packages again elsewhere and compare the bytes
	@scripts/reproduce

##: Measuring
bench: setup-bench      ## measure builds, into test-results/new/; report: draw kept sets, or SET=
	@bench/run --tree "$$TREE" $(if $(SUITE),--suite "$$SUITE") \
	    $(if $(CASES),--cases "$$CASES") \
	    $(if $(BUILDS),--builds "$$BUILDS") $(if $(IOPS),--iops "$$IOPS") \
	    $(if $(VOLUME),--volume "$$VOLUME") \
	    $(if $(ROUNDS),--rounds "$$ROUNDS") $(if $(SECONDS),--seconds "$$SECONDS") \
	    $(if $(SIZE),--size "$$SIZE") $(if $(DATA),--data "$$DATA")
report: setup-report
	@bench/report $(if $(SET),"$$SET")
profile: setup setup-bench ## train the profile of a tree anew, into trees/ (slow)
	@bench/train --tree "$$TREE" $(if $(SECONDS),--seconds "$$SECONDS") \
	    $(if $(SIZE),--size "$$SIZE")

##: House
run:                    ## run the server of the binary tarball, with data of its own
	@build/run
tables: setup-report    ## write the generated tables in README.md, docs/ and test-results/
	@scripts/tables --write
clean:                  ## remove work/, edits in it included, and the packages; help: this list
	@rm -rf work
	@[ ! -d dist ] || find dist -mindepth 1 -maxdepth 1 ! -name repo ! -name '.repo.*' \
	    -exec rm -rf {} +
help:
	@sed -n 's/^##: //p; s/^\([a-z-]*\):.*## \(.*\)/  make \1              \2/p' Makefile \
	    | sed 's/^\(  make .\{16\}\) */\1/'
	@echo 'Variables'
	@printf '  TREE=%s           release tree: %s\n' "$$TREE" \
	    '$(notdir $(patsubst %/pin.conf,%,$(PINS)))'
	@echo '  PATCHES="a b"        subset of the series (default: all; none: the vanilla server)'
	@echo '  PROFILE=none         build without the profile of the tree, into dist/<tree>+plain/'
	@echo '  VERSION= SHA256=     another upstream release of the tree, and the hash of its tarball'
	@echo '  TARBALL=             a tarball already at hand, with its .asc beside it'
	@echo '  UPSTREAM=            URL of a mirror of upstream'"'"'s archive, which is asked first'
	@echo '  TESTS=1              prove: run each patch'"'"'s tests, too; TESTS=missing: only what'
	@echo '                       the committed record lacks; TESTS=mutations: broken patches'
	@echo '  KEY= BASE=           release, repo: fingerprint of the key that signs, and the URL'
	@echo '  DIST=bookworm        release, repo: Debian that the .deb are for (pin.conf says it)'
	@echo '  REVISION=            promote: the revision (default: the newest of the tree)'
	@echo '  SUITE= BUILDS="a b"  bench: workloads (bench/run --help lists them) and builds'
	@echo '  CASES="a b"          bench: some cases of the suite (default: all)'
	@echo '  IOPS=3000            bench: requests a second that the disk allows'
	@echo '  VOLUME=gp3           bench: requests and bytes a second of a volume (docs/measure.md)'
	@echo '  SIZE= SECONDS=       bench, profile: size of the data (1: the usual), seconds of load'
	@echo '  ROUNDS= DATA=        bench: runs of each build, and a directory on the measured disk'

# The packages of Debian that each of them needs.
setup:
	@build/setup
setup-tests:
	@build/setup tests
setup-bench:
	@build/setup bench
setup-report:
	@build/setup report
setup-repo:
	@build/setup repo
setup-release:
	@build/setup release
