# Millrace: from the vanilla tarball to packages.  `make help` lists what there is.
# Make holds the order of the steps and nothing else; each step is a script.

TREE ?= 10.11
export TREE VERSION SHA256 TARBALL PROFILE
ifdef PATCHES
export PATCHES
endif
# all trees, unless one was asked for
PROVEN = $(if $(filter file,$(origin TREE)),,$(TREE))
# a file of tests stays in one process: its tests may share a server or a build
PYTEST = /usr/bin/python3 -m pytest -q --numprocesses auto --maxprocesses 4 --dist loadfile

.NOTPARALLEL:
.DEFAULT_GOAL := packages
.PHONY: packages deb rpm source tarball patched refresh run check reproduce lint docs help clean bench bench-bundle report

# Every step is asked each time; one that finds its work done says nothing.
packages: setup                 ## the whole road for one tree: source, deb, rpm and tarball into dist/
	@build/locked build/road source-deb deb source-rpm rpm tarball checksums
source: setup                   ## only the source packages (.dsc and .src.rpm)
	@build/locked build/road source-deb source-rpm checksums
deb: setup                      ## only the Debian packages
	@build/locked build/road source-deb deb checksums
rpm: setup                      ## only the RPM packages
	@build/locked build/road source-rpm rpm checksums
tarball: setup                  ## only the binary tarball
	@build/locked build/road tarball checksums
patched: setup                  ## the patched source with quilt's state, in work/
	@build/locked build/road
refresh:                        ## take edits in the patched source back into its top patch
	@build/locked scripts/refresh
new-patch:                      ## begin a patch: NAME=
	@scripts/new-patch "$(NAME)"
import-patch: setup             ## take in a patch of somebody else: FILE=, and NAME= if not the file's
	@scripts/import-patch "$(FILE)" $(NAME)
export-patch:                   ## one patch, or several as a quilt tree, for another build: NAME=
	@scripts/export-patch $(NAME)
rebase:                         ## carry the series to another release: VERSION=; CHECK=1 only reports
	@VERSION= build/setup
	@VERSION= build/locked scripts/rebase $(if $(CHECK),--check) $(VERSION)
upstream-watch:                 ## is there a newer release than the pinned one, for any tree?
	@scripts/upstream-watch
run:                            ## a server from this build in a private data directory
	@build/run
bench: setup-bench              ## measure builds side by side (the short set, or SUITE=) into test-results/
	@bench/run --tree $(TREE) $(if $(SUITE),--suite $(SUITE)) $(if $(BUILDS),--builds "$(BUILDS)") \
	    $(if $(IOPS),--iops $(IOPS)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SECONDS),--seconds $(SECONDS)) \
	    $(if $(SIZE),--size $(SIZE)) $(if $(DATA),--data $(DATA))
bench-bundle: setup-bench       ## servers, load engine and scripts in one archive, for a machine with nothing installed
	@bench/bundle --tree $(TREE) $(if $(BUILDS),--builds "$(BUILDS)")
.PHONY: profile
profile: setup setup-bench      ## train the profile of a tree anew, into profiles/ (slow): SECONDS= of each workload
	@bench/train --tree $(TREE) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SIZE),--size $(SIZE))
report: setup-report            ## draw what is in test-results/: pictures, a page for each set, an overview
	@bench/report
check: setup-tests packages     ## every test, the fast ones first
	@$(PYTEST) tests
reproduce: packages             ## build the packages again elsewhere, compiled anew, and compare the bytes
	@scripts/reproduce
lint: setup-tests               ## the fast tests only: scripts, headers, series
	@$(PYTEST) tests/fast
.PHONY: prove prove-tests prove-missing upstream-suites
prove: setup-tests              ## every subset applies, what applies compiles without new warnings, for all trees
	@scripts/prove-series $(PROVEN)
prove-tests: setup-tests        ## make prove, and each patch's tests fail without it and pass with it (slow)
	@scripts/prove-series --tests $(PROVEN)
prove-missing: setup-tests      ## make prove-tests, but for what the committed record has already
	@scripts/prove-series --missing $(PROVEN)
upstream-suites: setup-tests setup ## whole suites of upstream's tests with the series (slow): SUITE= for one
	@scripts/upstream-suites $(SUITE)
docs:                           ## write the tables of patches in README.md and docs/patches/
	@scripts/patches-table --write
clean:                          ## remove what was built, and the patched sources with any edits (not what was downloaded)
	@rm -rf work dist

.PHONY: setup setup-tests setup-bench new-patch import-patch export-patch rebase upstream-watch setup-report
setup:
	@build/setup
setup-tests:
	@build/setup tests
setup-bench:
	@build/setup bench
setup-report:
	@build/setup report

help:                           ## this list
	@echo 'Targets:'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | column -t -s '|'
	@echo 'Variables:'
	@echo '  TREE=10.11          the release tree: $(patsubst trees/%.conf,%,$(wildcard trees/*.conf))'
	@echo '  PATCHES="a b"       a subset of the series (default: all; none: vanilla)'
	@echo '  PROFILE=none        built without the profile of the tree, in dist/10.11+plain/'
	@echo '  VERSION= SHA256=    another upstream release of the tree, and the hash of its tarball'
	@echo '  NAME= FILE= CHECK=  of the commands that name them'
	@echo '  TARBALL=            a tarball already at hand, its .asc beside it'
	@echo '  SUITE= BUILDS="a b" of bench: short oltp tpcc scan recovery undo undospace contention checkpoint unseen'
	@echo '  SUITE=innodb        of upstream-suites: one of mysql-test'
	@echo '  IOPS=3000 SIZE=     of bench: requests a second that the disk allows; size of the data, 1 the usual'
	@echo '  ROUNDS= SECONDS=    of bench: runs of each build, and seconds of load in each'
	@echo '  DATA=work/bench     of bench: a directory on the disk that is measured, for up to 4 GB'
